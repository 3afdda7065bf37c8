//! A model as a provider: the conversation becomes a request of the configured dialect, and its
//! answer a reply.

use super::config::Config;
use super::failure::AttemptFailure;
use super::http::{ModelRequest, ModelServer};
use super::messages::{Prompt, messages, tools};
use super::parts::PromptParts;
use crate::server::UnusableKey;
use crate::turn::{Deltas, Provider, ProviderError, StepReply, StepRequest};
use async_trait::async_trait;

/// A larger request is not sent: what the largest parts, and a conversation far beyond any model,
/// come to.
pub(super) const REQUEST_BYTES_MAX: usize = 40 << 20;

/// A model behind one server.
pub(super) struct ModelProvider {
    server: ModelServer,
    name: String,
    accepts: Vec<String>,
    max_output_tokens: u32,
}

impl ModelProvider {
    /// The configured model. Reads the key, and contacts nobody.
    ///
    /// # Errors
    /// [`UnusableKey`].
    pub(super) fn open(config: &Config) -> Result<Self, UnusableKey> {
        Ok(Self {
            server: ModelServer::new(config, config.key()?)?,
            name: config.model()?.to_owned(),
            accepts: config.accepted_types(),
            max_output_tokens: config.max_output_tokens(),
        })
    }

    /// The body of a request, and whether it shows attachments, whose bytes are dropped as soon as
    /// it is written.
    async fn build_body(&self, request: StepRequest<'_>) -> Result<ModelRequest, ProviderError> {
        let unreadable = |error| ProviderError::Refused(format!("an attachment cannot be read: {error}"));
        let parts = PromptParts::read(request.conversation, &self.accepts).await.map_err(unreadable)?;
        let prompt = Prompt {
            model: &self.name,
            max_output_tokens: self.max_output_tokens,
            instructions: request.instructions,
            messages: messages(request, &parts),
            tools: tools(request.tools),
        };
        let body = self.server.dialect.body(&prompt);
        let tokens = parts.estimate_tokens(body.len());
        Ok(ModelRequest { body: body.into(), tokens, shows_files: !parts.is_empty() })
    }
}

#[async_trait]
impl Provider for ModelProvider {
    async fn respond(
        &self,
        request: StepRequest<'_>,
        deltas: &mut Deltas<'_>,
    ) -> Result<StepReply, ProviderError> {
        let asking = self.build_body(request).await?;
        if asking.body.len() > REQUEST_BYTES_MAX {
            return Err(AttemptFailure::TooLong(String::new()).to_error());
        }
        self.server.ask(asking, deltas).await
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn is_markdown(&self) -> bool {
        true
    }
}

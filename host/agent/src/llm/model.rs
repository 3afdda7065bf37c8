//! A model as a provider: the conversation becomes a request of the configured dialect, and its
//! answer a reply.

use super::anthropic::Anthropic;
use super::chat::Chat;
use super::config::{Config, ConfigError, Kind};
use super::dialect::Dialect;
use super::failure::Failure;
use super::http::{Asking, Server, Shows};
use super::messages::{Prompt, messages, tools};
use super::parts::Parts;
use super::responses::Responses;
use crate::turn::{Deltas, Markup, Memory, Provider, ProviderError, Reply, Request};
use async_trait::async_trait;

/// A larger request is not sent: what the largest parts, and a conversation far beyond any model,
/// come to.
pub(super) const REQUEST_BYTES_MAX: usize = 40 << 20;

/// A model behind one server.
pub(super) struct Model {
    server: Server,
    dialect: Box<dyn Dialect>,
    name: String,
    accepts: Vec<String>,
    max_output_tokens: u32,
}

impl Model {
    /// The configured model. Reads the key, and contacts nobody.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub(super) fn open(config: &Config) -> Result<Self, ConfigError> {
        let address = config.address()?;
        let dialect: Box<dyn Dialect> = match config.kind {
            Kind::Commands | Kind::OpenaiChat => Box::new(Chat::at(&address)),
            Kind::OpenaiResponses => Box::new(Responses::up_to(config.max_output_tokens())),
            Kind::Anthropic => Box::new(Anthropic),
        };
        let server = Server::new(address, config.key()?, config.patience);
        Ok(Self {
            server: server.map_err(|error| ConfigError::Client(error.to_string()))?,
            dialect,
            name: config.model()?.to_owned(),
            accepts: config.accepts(),
            max_output_tokens: config.max_output_tokens(),
        })
    }

    /// The body of a request, and whether it shows attachments, whose bytes are dropped as soon as
    /// it is written.
    async fn asking(&self, request: Request<'_>) -> Result<Asking, ProviderError> {
        let unreadable = |error| ProviderError::Refused(format!("an attachment cannot be read: {error}"));
        let parts = Parts::of(request.conversation, &self.accepts).await.map_err(unreadable)?;
        let prompt = Prompt {
            model: &self.name,
            max_output_tokens: self.max_output_tokens,
            instructions: request.instructions,
            messages: messages(request, &parts),
            tools: tools(request.tools),
        };
        let shows = if parts.is_empty() { Shows::Text } else { Shows::Files };
        Ok(Asking { body: self.dialect.body(&prompt).into(), shows })
    }
}

#[async_trait]
impl Provider for Model {
    async fn respond(&self, request: Request<'_>, deltas: &mut dyn Deltas) -> Result<Reply, ProviderError> {
        let asking = self.asking(request).await?;
        if asking.body.len() > REQUEST_BYTES_MAX {
            return Err(Failure::TooLong(String::new()).told());
        }
        self.server.ask(self.dialect.as_ref(), asking, deltas).await
    }

    fn memory(&self) -> Memory {
        Memory::Conversation
    }

    fn markup(&self) -> Markup {
        Markup::Markdown
    }
}

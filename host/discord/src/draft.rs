//! The message that stands for the answer while its turn runs: one of its own, or the one that
//! Discord shows below a command.

use super::api::{BucketWait, REQUEST_MAX, RequestBody};
use super::bot::DiscordBot;
use super::route::{self, Route};
use super::send::{created_id, message, nonce, payload, sent_id};
use super::target::ReplyTarget;
use super::text::TEXT_CHARS_MAX;
use async_trait::async_trait;
use cofferdam_chat::EditableMessage;
use cofferdam_chat::outbound::{SendError, StyledText};
use cofferdam_core::id::TurnId;
use std::sync::Arc;

/// Where it is sent.
pub(super) struct Draft {
    pub(super) bot: Arc<DiscordBot>,
    pub(super) turn: TurnId,
    pub(super) target: ReplyTarget,
}

#[async_trait]
impl EditableMessage for Draft {
    const IS_SENT_ONCE: bool = true;
    // Escapes and marks count; what is said so far is cut rather early.
    const TEXT_UNITS_MAX: usize = TEXT_CHARS_MAX / 2 - 200;

    fn is_in_group(&self) -> bool {
        self.target.guild.is_some()
    }

    async fn room(&self) {}

    async fn send(&self, text: &StyledText) -> Result<i64, SendError> {
        self.put_message(text, BucketWait::Now).await
    }

    async fn send_again(&self, text: &StyledText) -> Result<i64, SendError> {
        self.put_message(text, BucketWait::Waits).await
    }

    async fn edit(&self, id: i64, text: &StyledText) -> Result<(), SendError> {
        let channel = self.target.channel().ok_or_else(nowhere)?;
        let route = match self.target.open_interaction(self.bot.api.platform_now_ms()) {
            Some(of) => Route::on_answer(route::EDIT_ANSWER, of),
            None => Route::bot(route::EDIT, &[channel, id]),
        };
        let (text, at_once) = (payload(text), (REQUEST_MAX, BucketWait::Now));
        self.bot.api.call_within(&route, RequestBody::Json(&text), at_once).await?;
        Ok(())
    }
}

impl Draft {
    /// Has it stand there, and returns its id.
    async fn put_message(&self, text: &StyledText, haste: BucketWait) -> Result<i64, SendError> {
        let id = match self.target.open_interaction(self.bot.api.platform_now_ms()) {
            Some(of) => {
                let (route, text) = (Route::on_answer(route::EDIT_ANSWER, of), payload(text));
                let limits = (REQUEST_MAX, haste);
                sent_id(&self.bot.api.call_within(&route, RequestBody::Json(&text), limits).await?)
            }
            None => {
                let channel = self.target.channel().ok_or_else(nowhere)?;
                let nonce = nonce(self.turn.as_str(), "placeholder");
                let message = message(text, nonce, self.target.reply_to);
                let (route, limits) = (Route::bot(route::CREATE, &[channel]), (REQUEST_MAX, haste));
                created_id(self.bot.api.call_within(&route, RequestBody::Json(&message), limits).await)?
            }
        };
        id.parse::<i64>().map_err(|_| SendError::Gone("somebody has deleted it".to_owned()))
    }
}

fn nowhere() -> SendError {
    SendError::Gone("nobody knows where".to_owned())
}

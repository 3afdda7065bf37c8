//! The message that stands for the answer while its turn runs: one of its own, or the one that
//! Discord shows below a command.

use super::api::{BucketWait, REQUEST_MAX, RequestBody};
use super::bot::DiscordBot;
use super::failure::ApiFailure;
use super::route::{self, Route};
use super::send::{message, nonce, payload, sent_id};
use super::target::ReplyTarget;
use super::text::TEXT_CHARS_MAX;
use async_trait::async_trait;
use cofferdam_chat::outbound::StyledText;
use cofferdam_chat::{self as chat, EditResult};
use cofferdam_core::id::TurnId;
use cofferdam_store::now_ms;
use std::sync::Arc;

/// Where it is sent.
pub(super) struct Draft {
    pub(super) bot: Arc<DiscordBot>,
    pub(super) turn: TurnId,
    pub(super) target: ReplyTarget,
}

#[async_trait]
impl chat::EditableMessage for Draft {
    const IS_SENT_ONCE: bool = true;
    // Escapes and marks count; what is said so far is cut rather early.
    const TEXT_UNITS_MAX: usize = TEXT_CHARS_MAX / 2 - 200;

    fn is_in_group(&self) -> bool {
        self.target.guild.is_some()
    }

    async fn room(&self) {}

    async fn send(&self, text: &StyledText) -> Result<String, String> {
        let id = match self.target.open_interaction(now_ms()) {
            Some(of) => {
                let route = Route::on_answer(route::EDIT_ANSWER, of);
                let answer = self.bot.api.call(&route, RequestBody::Json(&payload(text))).await;
                answer.map(|message| sent_id(&message))
            }
            None => {
                let channel = self.target.channel().ok_or("nobody knows where")?;
                let nonce = nonce(self.turn.as_str(), "placeholder");
                self.bot.create(channel, message(text, nonce, self.target.reply_to), None).await
            }
        };
        let id = id.map_err(|failure| failure.to_string())?;
        id.parse::<i64>().map(|_| id).map_err(|_| "somebody has deleted it".to_owned())
    }

    async fn edit(&self, id: &str, text: &StyledText) -> EditResult {
        let (Some(channel), Ok(message)) = (self.target.channel(), id.parse()) else {
            return EditResult::Gone;
        };
        let route = match self.target.open_interaction(now_ms()) {
            Some(of) => Route::on_answer(route::EDIT_ANSWER, of),
            None => Route::bot(route::EDIT, &[channel, message]),
        };
        match self
            .bot
            .api
            .call_within(&route, RequestBody::Json(&payload(text)), (REQUEST_MAX, BucketWait::Now))
            .await
        {
            Ok(_) | Err(ApiFailure::TooMany(_)) => EditResult::Settled,
            Err(ApiFailure::Refused { .. }) => EditResult::Gone,
            Err(_) => EditResult::Doubtful,
        }
    }
}

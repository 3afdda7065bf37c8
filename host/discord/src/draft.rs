//! The message that stands for the answer while its turn runs: one of its own, or the one that
//! Discord shows below a command.

use super::api::{Carried, Haste, REQUEST_MAX};
use super::bot::Bot;
use super::failure::Failure;
use super::route::{self, Route};
use super::send::{message, nonce, payload, sent_id};
use super::target::Target;
use super::text::TEXT_CHARS_MAX;
use async_trait::async_trait;
use cofferdam_chat::outbound::Rich;
use cofferdam_chat::{self as chat, Edited};
use cofferdam_core::id::TurnId;
use cofferdam_store::now_ms;
use std::sync::Arc;

/// Where it is sent.
pub(super) struct Draft {
    pub(super) bot: Arc<Bot>,
    pub(super) turn: TurnId,
    pub(super) target: Target,
}

#[async_trait]
impl chat::Draft for Draft {
    const IS_SENT_ONCE: bool = true;
    // Escapes and marks count; what is said so far is cut rather early.
    const TEXT_UNITS_MAX: usize = TEXT_CHARS_MAX / 2 - 200;

    fn is_in_group(&self) -> bool {
        self.target.guild.is_some()
    }

    async fn room(&self) {}

    async fn send(&self, text: &Rich) -> Result<String, String> {
        let id = match self.target.open_interaction(now_ms()) {
            Some(of) => {
                let route = Route::on_answer(route::EDIT_ANSWER, of);
                let answer = self.bot.api.call(&route, Carried::Json(&payload(text))).await;
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

    async fn edit(&self, id: &str, text: &Rich) -> Edited {
        let (Some(channel), Ok(message)) = (self.target.channel(), id.parse()) else { return Edited::Gone };
        let route = match self.target.open_interaction(now_ms()) {
            Some(of) => Route::on_answer(route::EDIT_ANSWER, of),
            None => Route::bot(route::EDIT, &[channel, message]),
        };
        match self.bot.api.call_within(&route, Carried::Json(&payload(text)), (REQUEST_MAX, Haste::Now)).await
        {
            Ok(_) | Err(Failure::TooMany(_)) => Edited::Settled,
            Err(Failure::Refused { .. }) => Edited::Gone,
            Err(_) => Edited::Doubtful,
        }
    }
}

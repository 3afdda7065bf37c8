//! Approvals in a channel: a message with two buttons. Who may decide, and what came of it, is the
//! approvals' to know; a press is handed to it by [`super::presses`].

use super::api::RequestBody;
use super::bot::DiscordBot;
use super::failure::ApiFailure;
use super::route::{self, Route};
use super::send::{CHANNEL_LIMITS, message, nonce, payload};
use super::target::ReplyTarget;
use super::text::{TEXT_CHARS_MAX, length};
use super::wire::Snowflake;
use async_trait::async_trait;
use cofferdam_agent::tools::ApprovalRequest;
use cofferdam_chat::approvals::{ApprovalDisplay, Changing, Verb, change_message};
use cofferdam_chat::outbound::{ChannelLimits, SendError, StyledText, split_text};
use cofferdam_chat::people::Served;
use serde_json::{Value, json};
use std::future::ready;
use std::sync::Arc;

/// Where the approvals of one turn are shown: below its question.
pub(super) struct ApprovalTarget {
    pub(super) bot: Arc<DiscordBot>,
    /// The question.
    pub(super) target: ReplyTarget,
    /// Who asked it.
    pub(super) sender: String,
}

#[async_trait]
impl ApprovalDisplay for ApprovalTarget {
    fn chat(&self) -> String {
        self.channel().to_string()
    }

    fn approvers(&self, named: Vec<String>) -> Vec<String> {
        // In private nobody else sees it.
        let alone = self.target.guild.is_none().then_some(self.sender.as_str());
        self.bot.base.door.approvers(named, alone)
    }

    fn asker_served(&self) -> Served {
        let Ok(sender) = self.sender.parse() else { return Served::No };
        self.bot.rules_of(self.bot.base.people_rules_in_force()).served(sender, self.target.guild)
    }

    /// By its nonce.
    fn is_shown_once(&self) -> bool {
        true
    }

    async fn show(&self, id: &str, approval: &ApprovalRequest) -> Result<String, SendError> {
        Ok(self.send(id, &approval.text).await?)
    }

    fn change(&self, message: &str, question: &str, outcome: &str) -> Changing {
        let (channel, Ok(message)) = (self.channel(), message.parse()) else { return Box::pin(ready(true)) };
        let mut body = payload(&settled_text(question, outcome));
        body["components"] = json!([]);
        edit(&self.bot, (channel, message), body)
    }
}

/// Takes the buttons of a question away, and leaves its words.
pub(super) fn take_choices(bot: &DiscordBot, chat: &str, message: &str) -> Changing {
    let (Ok(channel), Ok(message)) = (chat.parse(), message.parse()) else { return Box::pin(ready(true)) };
    let body = json!({ "components": [], "allowed_mentions": { "parse": [], "replied_user": false } });
    edit(bot, (channel, message), body)
}

fn edit(bot: &DiscordBot, (channel, message): (Snowflake, Snowflake), body: Value) -> Changing {
    let (api, body) = (bot.api.clone(), Arc::new(body));
    change_message(move || {
        let (api, body) = (api.clone(), body.clone());
        async move {
            let route = Route::bot(route::EDIT, &[channel, message]);
            api.call(&route, RequestBody::Json(&body)).await.map(drop).map_err(SendError::from)
        }
    })
}

/// The one message that is changed: what of the question stood there, as far as there is room above
/// what came of it.
fn settled_text(question: &str, outcome: &str) -> StyledText {
    let last = split_text(&StyledText::plain(question), &CHANNEL_LIMITS).pop().unwrap_or_default();
    let whole = StyledText::plain(format!("{}\n\n{outcome}", last.text));
    if length(&whole) <= TEXT_CHARS_MAX {
        return whole;
    }
    let below = format!(" …\n\n{outcome}");
    // What ends a piece may count one more where something follows.
    let room = TEXT_CHARS_MAX.saturating_sub(length(&StyledText::plain(&*below)) + 1);
    let limits = ChannelLimits { text_units_max: room, ..CHANNEL_LIMITS };
    let fits = split_text(&last, &limits).into_iter().next().unwrap_or_default();
    StyledText::plain(fits.text.trim_end().to_owned() + &below)
}

impl ApprovalTarget {
    fn channel(&self) -> Snowflake {
        self.target.channel().unwrap_or_default()
    }

    /// Shows the call, in several messages where one does not hold it; the last one has the
    /// buttons.
    async fn send(&self, id: &str, text: &str) -> Result<String, ApiFailure> {
        let pieces = split_text(&StyledText::plain(text), &CHANNEL_LIMITS);
        let mut sent = String::new();
        for (n, piece) in pieces.iter().enumerate() {
            let reply_to = self.target.reply_to.filter(|_| n == 0);
            let mut body = message(piece, nonce(id, &n.to_string()), reply_to);
            if n + 1 == pieces.len() {
                body["components"] =
                    json!([{ "type": 1, "components": Verb::ALL.map(|verb| button(verb, id)) }]);
            }
            sent = self.bot.create(self.channel(), body, None).await?;
        }
        Ok(sent)
    }
}

fn button(verb: Verb, id: &str) -> Value {
    let style = match verb {
        Verb::Approve => 3,
        Verb::Deny => 4,
    };
    json!({ "type": 2, "style": style, "label": verb.label(), "custom_id": verb.data(id) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_a_question_leaves_of_it_what_there_is_room_for() {
        const OUTCOME: &str = "✅ Approved by 7.";
        let check = |question: &str, begins: &str| {
            let text = settled_text(question, OUTCOME);
            assert!(length(&text) <= TEXT_CHARS_MAX, "{}", length(&text));
            let above = text.text.strip_suffix(OUTCOME).and_then(|above| above.strip_suffix("\n\n"));
            let above = above.expect("the outcome is below");
            assert!(above.starts_with(begins), "{begins:?} {above:?}");
            above.to_owned()
        };
        assert_eq!(check("writes a", "writes a"), "writes a");
        for (line, lines) in [("0123456789", 179), ("-_*~`.:/|", 116), ("é😀", 492)] {
            let question = vec![line; lines].join("\n");
            let question = format!("file_write needs approval\n{question}");
            assert_eq!(split_text(&StyledText::plain(&*question), &CHANNEL_LIMITS).len(), 1, "{line}");
            let above = check(&question, "file_write needs approval\n");
            assert!(above.len() > question.len() * 3 / 4, "{line} {}", above.len());
        }
        // Of several messages it is the last that is changed.
        let long = format!("{}\n{}", "a".repeat(1990), "b".repeat(1990));
        assert!(check(&long, "bbb").ends_with("b …"));
    }
}

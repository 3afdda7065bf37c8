//! Approvals in a chat: a message with two buttons in reply to the question, and waiting for a press, through
//! restarts. Nothing here believes a press: [`super::presses`] decides, in the store.

use super::api::REQUEST_MAX;
use super::bot::Bot;
use super::failure::Failure;
use super::send::{NO_PREVIEW, Target};
use super::words;
use crate::outbound::{Backoff, Rich};
use crate::store::{self, ApprovalState, ApprovedPaths, NewApproval, now_ms};
use crate::tools::{Approval, Approver, Decision};
use crate::turn::lanes::Slot;
use async_trait::async_trait;
use cofferdam_core::id::Caller;
use cofferdam_core::policy::GuestPath;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use teloxide_core::payloads::SendMessage;
use teloxide_core::types::{
    ChatId, InlineKeyboardButton, InlineKeyboardMarkup, MessageId, ReplyMarkup, ReplyParameters, ThreadId,
};
use tokio_util::sync::CancellationToken;

/// Where an approval is shown and who may decide; the store keeps it as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) chat: i64,
    pub(super) approvers: Vec<i64>,
}

/// What a button asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Approve,
    Deny,
}

/// Tries to take the buttons away; a press after that is told that it is too late all the same.
const EDITS_MAX: u32 = 3;

/// The approvals of one turn.
pub(super) struct Desk {
    pub(super) bot: Arc<Bot>,
    /// The question.
    pub(super) target: Target,
    /// Who asked it.
    pub(super) sender: i64,
    /// Given up while a person is waited for.
    pub(super) slot: Arc<Slot>,
}

#[async_trait]
impl Approver for Desk {
    fn approved_before(&self, tool: &str, paths: &[GuestPath]) -> Vec<GuestPath> {
        let texts: Vec<_> = paths.iter().map(ToString::to_string).collect();
        let known = self.bot.store.approved_paths(&self.person(tool), &texts).unwrap_or_else(|error| {
            tracing::error!(%error, "what was approved before is unreadable, so it is asked about again");
            Vec::new()
        });
        paths.iter().filter(|path| known.iter().any(|known| known == path.as_str())).cloned().collect()
    }

    async fn decide(&self, approval: &Approval, cancel: &CancellationToken) -> Decision {
        self.slot.leave();
        let decision = self.decided(approval, cancel).await;
        self.slot.back().await;
        decision
    }
}

impl Desk {
    async fn decided(&self, approval: &Approval, cancel: &CancellationToken) -> Decision {
        let bot = &self.bot;
        let approvers = match bot.approvals.approvers.as_slice() {
            [] => vec![self.sender],
            named => named.to_vec(),
        };
        let approvers: Vec<_> =
            approvers.into_iter().filter(|id| self.bot.rules().allowed.contains(id)).collect();
        if approvers.is_empty() {
            return Decision::Unasked(words::NOBODY_HERE.to_owned());
        }
        let place = Place { chat: self.target.chat, approvers };
        // A private chat has the number of the person.
        if place.chat > 0 && !place.approvers.contains(&place.chat) {
            return Decision::Unasked(words::NOBODY_HERE.to_owned());
        }
        let Some(id) = random_id() else {
            return Decision::Unasked("the system gives no random numbers".to_owned());
        };
        let new = NewApproval {
            id,
            call: approval.call.as_str().to_owned(),
            sha256: approval.sha256.clone(),
            place: serde_json::to_string(&place).expect("plain data"),
            expires_at: now_ms().saturating_add(bot.approvals.expires_ms()),
        };
        let Some((asked, outdated)) = bot.stored("note an approval", || bot.store.ask(new.clone())).await
        else {
            return Decision::Withdrawn;
        };
        for outdated in outdated {
            self.close(&outdated, &approval.tool);
        }
        let Some(settled) = self.settled(asked, approval, cancel).await else { return Decision::Withdrawn };
        self.answered(settled, approval).await
    }

    /// The approval once it is decided; `None`: the bot stops, and the next start goes on waiting.
    async fn settled(
        &self,
        asked: store::Approval,
        approval: &Approval,
        cancel: &CancellationToken,
    ) -> Option<store::Approval> {
        let bot = &self.bot;
        let id = asked.id.clone();
        let left = left(asked.expires_at, now_ms(), bot.approvals.expires);
        let ends = tokio::select! {
            waited = self.waited(asked, approval) => return waited,
            () = tokio::time::sleep(left) => ApprovalState::Expired,
            () = cancel.cancelled() => {
                if bot.stop.now.is_cancelled() {
                    return None;
                }
                ApprovalState::Withdrawn
            }
        };
        bot.stored("end an approval", || bot.store.decide(&id, ends, None)).await?
    }

    /// Shows it, unless it was shown before a restart, and waits for somebody's decision.
    async fn waited(&self, mut asked: store::Approval, approval: &Approval) -> Option<store::Approval> {
        let bot = &self.bot;
        let mut presses = bot.approvals.decided.subscribe();
        loop {
            presses.borrow_and_update();
            asked = bot.stored("look up an approval", || bot.store.approval(&asked.id)).await??;
            if asked.state != ApprovalState::Asked {
                return Some(asked);
            }
            if !self.asker_is_served() {
                let end = || bot.store.decide(&asked.id, ApprovalState::Withdrawn, None);
                return bot.stored("end an approval", end).await?;
            }
            // Not yet, or in a group that has moved since, where nobody can press any more.
            let shown_in = asked.message.as_deref().map(|message| self.message(message).0);
            if shown_in != Some(self.chat()) {
                match self.shown(&asked.id, &approval.text).await {
                    Ok(message) => {
                        let note = || bot.store.approval_shown(&asked.id, &message);
                        bot.stored("note where an approval is shown", note).await?;
                        tracing::debug!(call = %approval.call, "an approval is shown");
                    }
                    Err(failure) => {
                        tracing::warn!(call = %approval.call, %failure, "an approval cannot be shown");
                        let end = || bot.store.decide(&asked.id, ApprovalState::Withdrawn, None);
                        return bot.stored("end an approval", end).await?;
                    }
                }
                continue;
            }
            presses.changed().await.ok()?;
        }
    }

    /// Whether the person who asked is served still: what was removed meanwhile gets nothing.
    fn asker_is_served(&self) -> bool {
        self.bot.rules().serves(self.sender, self.target.chat)
    }

    /// Where the chat can be reached now.
    fn chat(&self) -> i64 {
        self.bot.door.moves.now(self.target.chat)
    }

    /// The chat and the number of a message that shows an approval, as the store keeps them.
    fn message(&self, kept: &str) -> (i64, Option<i64>) {
        match kept.split_once('/') {
            Some((chat, id)) => (chat.parse().unwrap_or(self.target.chat), id.parse().ok()),
            None => (self.target.chat, kept.parse().ok()),
        }
    }

    /// The decision, once the paths are remembered that it is good for.
    async fn answered(&self, settled: store::Approval, approval: &Approval) -> Decision {
        let bot = &self.bot;
        let by = settled.decided_by.clone().unwrap_or_default();
        self.close(&settled, &approval.text);
        let by = Caller { channel: approval.caller.channel.clone(), sender: by };
        match settled.state {
            ApprovalState::Approved if !self.asker_is_served() => {
                Decision::Unasked(words::ASKER_REMOVED.to_owned())
            }
            ApprovalState::Approved => {
                let paths: Vec<_> = approval.remember.iter().map(ToString::to_string).collect();
                let person = self.person(&approval.tool);
                let remember = || bot.store.remember_paths(person.clone(), paths.clone());
                if !paths.is_empty() && bot.stored("remember approved paths", remember).await.is_none() {
                    return Decision::Withdrawn;
                }
                Decision::Approved(by)
            }
            ApprovalState::Denied => Decision::Denied(by),
            ApprovalState::Expired => Decision::Expired,
            ApprovalState::Withdrawn if settled.message.is_none() => {
                Decision::Unasked("the question could not be shown in this chat".to_owned())
            }
            ApprovalState::Withdrawn | ApprovalState::Asked => Decision::Withdrawn,
        }
    }

    /// Whose calls of a tool are meant.
    fn person(&self, tool: &str) -> ApprovedPaths {
        let (channel, sender) = (self.bot.channel.clone(), self.sender.to_string());
        ApprovedPaths { channel, sender, tool: tool.to_owned() }
    }

    /// Shows it; tries again what time may heal.
    async fn shown(&self, id: &str, text: &str) -> Result<String, Failure> {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
        loop {
            let pause = match self.send(id, text).await {
                Err(Failure::TooMany(asked)) => asked.max(backoff.pause()),
                Err(Failure::Migrated(to)) if self.chat() != to => {
                    self.bot.moved(self.chat(), to).await;
                    continue;
                }
                Err(failure @ (Failure::Refused { .. } | Failure::Migrated(_))) => return Err(failure),
                Err(_) => backoff.pause(),
                Ok(message) => return Ok(message),
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn send(&self, id: &str, text: &str) -> Result<String, Failure> {
        let number = |id: Option<i64>| id.and_then(|id| i32::try_from(id).ok()).map(MessageId);
        let chat = self.chat();
        // The old ids of topic and message mean nothing where a group has moved to.
        let here = |id: Option<i64>| number(id.filter(|_| chat == self.target.chat));
        let mut message = SendMessage::new(ChatId(chat), text);
        message.message_thread_id = here(self.target.thread).map(ThreadId);
        message.reply_parameters =
            here(self.target.reply_to).map(|id| ReplyParameters::new(id).allow_sending_without_reply());
        message.link_preview_options = Some(NO_PREVIEW);
        let button = |verb: Verb| InlineKeyboardButton::callback(verb.label(), data(verb, id));
        let buttons = InlineKeyboardMarkup::new([[button(Verb::Approve), button(Verb::Deny)]]);
        message.reply_markup = Some(ReplyMarkup::InlineKeyboard(buttons));
        let api = &self.bot.api;
        let result = api.pace.reply(self.target.chat, api.call(&message, REQUEST_MAX)).await?;
        let sent: serde_json::Value = serde_json::from_str(result.get()).unwrap_or_default();
        Ok(format!("{chat}/{}", sent["message_id"].as_i64().unwrap_or_default()))
    }

    /// Says below the call what was decided, which takes the buttons away. The call does not wait for it.
    fn close(&self, settled: &store::Approval, text: &str) {
        let Some((chat, Some(message))) = settled.message.as_deref().map(|kept| self.message(kept)) else {
            return;
        };
        let below = words::settled(settled.state, settled.decided_by.as_deref());
        let text = Rich::plain(format!("{text}\n\n{below}"));
        let api = self.bot.api.clone();
        tokio::spawn(async move {
            for _ in 0..EDITS_MAX {
                let pause = match api.pace.reply(chat, api.edit(chat, message, &text)).await {
                    Ok(()) | Err(Failure::Refused { .. } | Failure::Migrated(_)) => return,
                    Err(Failure::TooMany(pause)) => pause,
                    Err(_) => Duration::from_secs(1),
                };
                tokio::time::sleep(pause).await;
            }
        });
    }
}

impl Verb {
    const ALL: [Self; 2] = [Self::Approve, Self::Deny];

    fn label(self) -> &'static str {
        match self {
            Self::Approve => "✅ Approve",
            Self::Deny => "❌ Deny",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
        }
    }

    /// What it makes of an approval.
    pub(super) fn state(self) -> ApprovalState {
        match self {
            Self::Approve => ApprovalState::Approved,
            Self::Deny => ApprovalState::Denied,
        }
    }
}

/// What a button carries: at most 64 bytes for Telegram, and nothing but which approval is meant.
fn data(verb: Verb, id: &str) -> String {
    format!("{}:{id}", verb.word())
}

/// What data of a button says; `None` for what no button of this bot carries.
pub(super) fn read_data(data: &str) -> Option<(Verb, &str)> {
    let (word, id) = data.split_once(':')?;
    let verb = Verb::ALL.into_iter().find(|verb| verb.word() == word)?;
    (id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())).then_some((verb, id))
}

/// How long an approval still waits: never longer than one that is asked for now, however the clock was set since.
fn left(expires_at: i64, now: i64, expires: Duration) -> Duration {
    let left = u64::try_from(expires_at.saturating_sub(now)).unwrap_or(0);
    Duration::from_millis(left).min(expires)
}

/// 128 bits that nobody guesses.
fn random_id() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_waits_no_longer_than_configured_whatever_the_clock_says() {
        let expires = Duration::from_secs(600);
        for (expires_at, now, seconds) in [
            (600_000, 0, 600),
            (600_000, 599_000, 1),
            (600_000, 600_000, 0),
            (600_000, 900_000, 0),
            // The clock was set back while the gateway was away, or the configuration allows less now.
            (86_400_000, 0, 600),
            (i64::MAX, i64::MIN, 600),
            (i64::MIN, i64::MAX, 0),
        ] {
            assert_eq!(left(expires_at, now, expires), Duration::from_secs(seconds), "{expires_at} {now}");
        }
    }

    #[test]
    fn a_button_names_its_approval_and_nothing_else_is_read() {
        let id = random_id().expect("random numbers");
        for verb in Verb::ALL {
            let data = data(verb, &id);
            assert!(data.len() <= 64, "{data}");
            assert_eq!(read_data(&data), Some((verb, id.as_str())));
        }
        assert_ne!(random_id(), random_id());
        for odd in ["", ":", "approve:", "approve", &format!("Approve:{id}"), &format!("run:{id}")] {
            assert_eq!(read_data(odd), None, "{odd}");
        }
        for odd in [format!("approve:{id}0"), format!("approve:{}", "é".repeat(16)), format!(" approve:{id}")]
        {
            assert_eq!(read_data(&odd), None, "{odd}");
        }
    }
}

//! Presses of buttons below approvals: decided in the store before the update is confirmed, so that none is
//! lost, and however often it comes it decides once. The presser's number is looked at before anything else.
//!
//! They pass by the lanes: the lane of a press is busy with the very turn that waits for it.

use super::api::REQUEST_MAX;
use super::approvals::{Place, read_data};
use super::bot::Bot;
use super::start::Flow;
use super::wire::{Press, UserKind};
use super::words;
use std::sync::Arc;
use std::time::Duration;
use teloxide_core::payloads::AnswerCallbackQuery;
use teloxide_core::types::CallbackQueryId;
use tokio::sync::{Semaphore, watch};

/// Answers to presses that are under way at once; more presses are not answered, and count all the same.
pub(super) const ANSWERS_AT_ONCE_MAX: usize = 16;

/// What approvals of all chats share.
#[derive(Clone)]
pub(super) struct Approvals {
    /// Who may decide; empty: whoever asked.
    pub(super) approvers: Vec<i64>,
    /// How long an approval waits.
    pub(super) expires: Duration,
    /// Wakes those who wait; what was decided is in the store.
    pub(super) decided: watch::Sender<()>,
    answers: Arc<Semaphore>,
}

impl Approvals {
    pub(super) fn new(approvers: Vec<i64>, expires: Duration) -> Self {
        let answers = Arc::new(Semaphore::new(ANSWERS_AT_ONCE_MAX));
        Self { approvers, expires, decided: watch::Sender::new(()), answers }
    }

    /// The same under other settings; whoever waits is woken by either.
    pub(super) fn renewed(&self, approvers: Vec<i64>, expires: Duration) -> Self {
        Self { approvers, expires, ..self.clone() }
    }

    /// Whether a person may decide over approvals that others asked for, as it is configured now.
    fn admits(&self, person: i64) -> bool {
        self.approvers.is_empty() || self.approvers.contains(&person)
    }

    pub(super) fn expires_ms(&self) -> i64 {
        i64::try_from(self.expires.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Decides what the presses ask for. When it returns, that is on disk.
pub(super) async fn take(bot: &Bot, presses: Vec<Press>) -> Flow {
    for press in presses {
        let Some(said) = pressed(bot, &press).await else { return Flow::Stops };
        let Ok(permit) = bot.approvals.answers.clone().try_acquire_owned() else { continue };
        let api = bot.api.clone();
        tokio::spawn(async move {
            let mut answer = AnswerCallbackQuery::new(CallbackQueryId(press.query));
            answer.text = Some(said.text);
            answer.show_alert = Some(said.alert);
            if let Err(failure) = api.call(&answer, REQUEST_MAX).await {
                tracing::debug!(%failure, "a press was not answered");
            }
            drop(permit);
        });
    }
    Flow::Goes
}

/// What the presser is told.
struct Said {
    text: String,
    /// In a window to be closed, for what the presser did not expect.
    alert: bool,
}

/// Decides what a press asks for, if the presser may; `None` once the bot stops.
async fn pressed(bot: &Bot, press: &Press) -> Option<Said> {
    let alert = |text: String| Some(Said { text, alert: true });
    let rules = bot.rules();
    let person = press.from.filter(|user| user.kind == UserKind::Person && rules.allowed.contains(&user.id));
    let Some(person) = person else { return alert(words::NOT_SERVED.to_owned()) };
    let Some((verb, id)) = read_data(&press.data) else { return alert(words::NO_APPROVAL.to_owned()) };
    let found = bot.stored("look up an approval", || bot.store.approval(id)).await?;
    let place = found.and_then(|approval| serde_json::from_str::<Place>(&approval.place).ok());
    let home = |chat: i64| rules.moves.home(chat);
    let Some(place) = place.filter(|place| press.chat.map(home) == Some(home(place.chat))) else {
        return alert(words::NO_APPROVAL.to_owned());
    };
    // Those of the time when it was shown; who is none any more does not decide either.
    if !place.approvers.contains(&person.id) || !bot.approvals.admits(person.id) {
        return alert(words::for_others(&place.approvers));
    }
    let by = person.id.to_string();
    let decide = || bot.store.decide(id, verb.state(), Some(by.clone()));
    let Some(approval) = bot.stored("decide an approval", decide).await? else {
        return alert(words::NO_APPROVAL.to_owned());
    };
    bot.approvals.decided.send_replace(());
    let mine = approval.state == verb.state() && approval.decided_by.as_ref() == Some(&by);
    let text = words::settled(approval.state, approval.decided_by.as_deref());
    Some(Said { text, alert: !mine })
}

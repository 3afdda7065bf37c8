//! Approvals: a call that waits for a person is shown on a channel's board and is decided
//! here, in the store, through restarts. Who may decide, until when, and what is said of it is the
//! same on every channel.
//!
//! ```text
//! call ─► asking ─► board: shows the question, changes it    a channel's own, one for each turn
//!            ▲
//!          store ◄─ press: who says what about which question    what a channel hears
//! ```
//!
//! Nothing here believes a press: it counts once it is in the store, where one step decides.

mod asking;
mod press;
#[cfg(test)]
mod tests;
mod words;

pub use asking::{ApprovalDisplay, Changing, change_message};
pub use press::{PressAnswer, Verb};

use crate::people::PeopleNames;
use crate::session_queue::Stop;
use cofferdam_core::lock::lock;
use cofferdam_store::{ApprovalRow, Store, StoreRetry};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// What the approvals of all turns of a channel share. Clones wake each other.
#[derive(Clone)]
pub struct ApprovalService {
    store: Store,
    store_retry: StoreRetry,
    stop: Stop,
    /// What is this channel's in the store.
    channel: String,
    rules: Rules,
    /// Those that are in force: the same for all that came from one another.
    in_force: Arc<Mutex<Rules>>,
    /// What those are called who ask and decide.
    pub names: PeopleNames,
    /// Wakes those who wait; what was decided is in the store.
    decided: watch::Sender<()>,
}

/// Who decides, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Who may decide, by the channel's immutable ids of them; empty: the person who asked.
    pub approvers: Vec<String>,
    /// How long an approval waits.
    pub expires: Duration,
    /// Whether the approvers are those of this question alone: then who may decide over others'
    /// does not count.
    pub are_named: bool,
}

impl Rules {
    /// As a configuration has them: `approvers` by their numbers.
    pub fn new(approvers: &[i64], approvals: &cofferdam_agent::tools::Config) -> Self {
        let approvers = approvers.iter().map(ToString::to_string).collect();
        Self { approvers, expires: approvals.expires.0, are_named: false }
    }

    /// How long an approval waits, in milliseconds.
    fn expires_ms(&self) -> i64 {
        i64::try_from(self.expires.as_millis()).unwrap_or(i64::MAX)
    }

    /// Whether a person may decide over what `asker` asked for.
    fn may_decide(&self, person: &str, asker: Option<&str>) -> bool {
        match self.approvers.as_slice() {
            // Nobody decides over others any more. Earlier releases have not kept who asked.
            [] => asker.is_none_or(|asker| asker == person),
            approvers => approvers.iter().any(|approver| approver == person),
        }
    }
}

/// Where an approval is shown and who may decide; the store keeps it as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ApprovalPlace {
    /// In the channel's own words.
    chat: String,
    approvers: Vec<String>,
    /// Who asked for the call; absent where an earlier release has kept it.
    asker: Option<String>,
    /// Whether they are named for this question alone.
    are_named: bool,
}

impl ApprovalService {
    /// The approvals of a channel that ends with `stop`.
    pub fn new(store: Store, (store_retry, stop): (StoreRetry, Stop), channel: String, rules: Rules) -> Self {
        let (names, decided) = (PeopleNames::default(), watch::Sender::new(()));
        let in_force = Arc::new(Mutex::new(rules.clone()));
        Self { store, store_retry, stop, channel, rules, in_force, names, decided }
    }

    /// The same under other rules, which are in force from now on; a call that waits is woken by
    /// either.
    #[must_use]
    pub fn renewed(&self, rules: Rules) -> Self {
        *lock(&self.in_force) = rules.clone();
        Self { rules, ..self.clone() }
    }

    /// The same for questions that one person alone decides, for so long once they are shown.
    #[must_use]
    pub fn of_one(&self, person: &str, expires: Duration) -> Self {
        let rules = Rules { approvers: vec![person.to_owned()], expires, are_named: true };
        Self { rules, ..self.clone() }
    }

    /// The rules that a question is asked by now, also by a turn that began under others.
    fn current_rules(&self) -> Rules {
        if self.rules.are_named { self.rules.clone() } else { lock(&self.in_force).clone() }
    }

    /// Whether anybody of those to whom a question was shown may decide it still.
    fn can_be_decided(&self, place: &str) -> bool {
        let Some(place) = ApprovalPlace::read(place) else { return false };
        let rules = lock(&self.in_force);
        let asker = place.asker.as_deref();
        place.are_named || place.approvers.iter().any(|person| rules.may_decide(person, asker))
    }

    /// Has those who wait look again: a chat has moved, or somebody is not served any more.
    pub fn look_again(&self) {
        self.decided.send_replace(());
    }
}

/// The chat that an approval is shown in, in the channel's own words.
pub fn chat_of(approval: &ApprovalRow) -> Option<String> {
    ApprovalPlace::read(&approval.place).map(|place| place.chat)
}

impl ApprovalPlace {
    fn to_text(&self) -> String {
        let mut place = json!({ "chat": self.chat, "approvers": self.approvers });
        if let Some(asker) = &self.asker {
            place["asker"] = asker.as_str().into();
        }
        if self.are_named {
            place["named"] = true.into();
        }
        place.to_string()
    }

    fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        // Earlier releases have kept ids that are numbers as such.
        let id = |id: &Value| id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        let approvers = value["approvers"].as_array()?.iter().map(id).collect();
        let asker = value["asker"].as_str().map(str::to_owned);
        Some(Self { chat: id(&value["chat"]), approvers, asker, are_named: value["named"] == true })
    }
}

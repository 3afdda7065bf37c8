//! What is said of an approval, on every channel.

use crate::people::{PeopleNames, Served};
use cofferdam_agent::tools::person;
use cofferdam_store::{ApprovalRow, ApprovalState};

/// To a call that was to be approved, once the person who asked for it is not served any more.
pub(super) const ASKER_REMOVED: &str = "whoever asked for it is not served any more";

/// To a call that must be approved, in a private chat where nobody may.
pub(super) const NOBODY_HERE: &str = "in this chat nobody may approve it; ask in a group with one of the people whom the operator has named for that";

/// To a call that must be approved, where the question cannot be sent.
pub(super) const NOT_SHOWN: &str = "the question could not be shown in this chat";

/// To somebody who presses a button and is not served.
pub(super) const NOT_SERVED: &str = "Only people whom the operator has named can decide this.";

/// To a press that belongs to no approval of its chat.
pub(super) const NO_APPROVAL: &str = "There is nothing to decide here any more.";

/// To somebody who presses a button that is meant for others.
pub(super) fn not_for_you(approvers: &[String]) -> String {
    match approvers {
        [one] => format!("Only {one} may decide this."),
        _ => "Only the people whom the operator has named for approvals may decide this.".to_owned(),
    }
}

/// What became of an approval and so of its call, by whether who asked for that is served then.
pub(super) fn describe_settled(settled: &ApprovalRow, asker: Served, names: &PeopleNames) -> String {
    match (settled.state, asker) {
        (ApprovalState::Approved, Served::No) => format!("🚫 Not done: {ASKER_REMOVED}."),
        (state, _) => describe_outcome(state, settled.decided_by.as_deref(), names),
    }
}

/// What became of an approval, below the call and to the person who pressed.
pub(super) fn describe_outcome(state: ApprovalState, by: Option<&str>, names: &PeopleNames) -> String {
    let by = || by.map_or_else(|| "nobody".to_owned(), |by| person(by, names.get(by).as_deref()));
    match state {
        ApprovalState::Approved => format!("✅ Approved by {}.", by()),
        ApprovalState::Denied => format!("❌ Denied by {}.", by()),
        ApprovalState::Expired => "⌛ Expired: nobody decided in time. Nothing was changed.".to_owned(),
        ApprovalState::Withdrawn => "🚫 Withdrawn: this is not asked any more.".to_owned(),
        ApprovalState::Asked => "Not decided yet.".to_owned(),
    }
}

//! An answer to an approval: decided in the store when it returns, so that none is lost, and
//! however often it comes it decides once.

use super::{ApprovalPlace, ApprovalService, words};
use cofferdam_store::ApprovalState;

/// What a button asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The call may run.
    Approve,
    /// It may not.
    Deny,
}

/// What the presser is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PressAnswer {
    /// One line.
    pub text: String,
    /// Whether it is what the presser did not expect, and should not miss.
    pub alert: bool,
}

impl ApprovalService {
    /// Decides what the data of a button asks for, if the presser may: `by` is their id, absent
    /// where they are not served. `is_here` says whether the press came from a chat that an
    /// approval was shown in.
    ///
    /// `None` once the program stops; then nothing is decided.
    pub async fn press(
        &self,
        data: &str,
        by: Option<&str>,
        is_here: impl Fn(&str) -> bool,
    ) -> Option<PressAnswer> {
        let alert = |text: String| Some(PressAnswer { text, alert: true });
        let Some(by) = by else { return alert(words::NOT_SERVED.to_owned()) };
        let Some((verb, id)) = read_data(data) else { return alert(words::NO_APPROVAL.to_owned()) };
        let found =
            self.store_retry.store_until_done("look up an approval", || self.store.approval(id)).await?;
        let is_noted = found.as_ref().is_some_and(|approval| approval.message.is_some());
        let place = found.and_then(|approval| ApprovalPlace::read(&approval.place));
        let Some(place) = place.filter(|place| is_here(&place.chat)) else {
            return alert(words::NO_APPROVAL.to_owned());
        };
        // Those of the time when it was shown; who is none any more does not decide either.
        let is_named = place.approvers.iter().any(|approver| approver == by);
        if !is_named || !(place.are_named || self.rules.may_decide(by, place.asker.as_deref())) {
            return alert(words::not_for_you(&place.approvers));
        }
        if place.are_named && !is_noted {
            // It stands there, and that is not noted yet: its platform answers slowly, or a crash
            // came between.
            self.begin_time(id).await?;
        }
        let decide = || self.store.decide(id, verb.state(), Some(by.to_owned()));
        let Some(approval) = self.store_retry.store_until_done("decide an approval", decide).await? else {
            return alert(words::NO_APPROVAL.to_owned());
        };
        self.look_again();
        let mine = approval.state == verb.state() && approval.decided_by.as_deref() == Some(by);
        let text = words::describe_outcome(approval.state, approval.decided_by.as_deref(), &self.names);
        Some(PressAnswer { text, alert: !mine })
    }
}

impl Verb {
    /// In the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::Approve, Self::Deny];

    /// What its button says.
    pub fn label(self) -> &'static str {
        match self {
            Self::Approve => "✅ Approve",
            Self::Deny => "❌ Deny",
        }
    }

    /// What its button carries: at most 64 bytes, and nothing but which approval is meant.
    pub fn data(self, id: &str) -> String {
        format!("{}:{id}", self.word())
    }

    fn word(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
        }
    }

    /// What it makes of an approval.
    fn state(self) -> ApprovalState {
        match self {
            Self::Approve => ApprovalState::Approved,
            Self::Deny => ApprovalState::Denied,
        }
    }
}

/// What data of a button says; `None` for what no button of this program carries.
fn read_data(data: &str) -> Option<(Verb, &str)> {
    let (word, id) = data.split_once(':')?;
    let verb = Verb::ALL.into_iter().find(|verb| verb.word() == word)?;
    (id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())).then_some((verb, id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_store::new_name;

    #[test]
    fn a_button_names_its_approval_and_nothing_else_is_read() {
        let id = new_name().expect("random numbers");
        for verb in Verb::ALL {
            let data = verb.data(&id);
            assert!(data.len() <= 64, "{data}");
            assert_eq!(read_data(&data), Some((verb, id.as_str())));
        }
        assert_ne!(new_name().ok(), new_name().ok());
        for odd in ["", ":", "approve:", "approve", &format!("Approve:{id}"), &format!("run:{id}")] {
            assert_eq!(read_data(odd), None, "{odd}");
        }
        for odd in [format!("approve:{id}0"), format!("approve:{}", "é".repeat(16)), format!(" approve:{id}")]
        {
            assert_eq!(read_data(&odd), None, "{odd}");
        }
    }
}

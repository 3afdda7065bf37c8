//! Whether somebody is served, where the list of those who were let in may be unreadable.

use std::time::Duration;

/// How often it is looked whether it is known again who is served.
pub(crate) const UNKNOWN_LOOK: Duration = Duration::from_secs(1);

/// Whether somebody is served. A new message is refused unless they are. What was begun for them
/// before ends only where they are not: while nobody knows, it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// They are.
    Yes,
    /// They are not, or not any more.
    No,
    /// The file of those who were let in cannot be read, and nothing else says so.
    Unknown,
}

impl Served {
    /// Whether they are, once it is known.
    pub(crate) async fn await_known(look: impl Fn() -> Self) -> bool {
        loop {
            match look() {
                Self::Yes => return true,
                Self::No => return false,
                Self::Unknown => tokio::time::sleep(UNKNOWN_LOOK).await,
            }
        }
    }

    /// Of somebody who was looked for among those who are served, of whom maybe not all are known.
    pub(super) fn from_look(is_found: bool, are_all_known: bool) -> Self {
        match (is_found, are_all_known) {
            (true, _) => Self::Yes,
            (false, true) => Self::No,
            (false, false) => Self::Unknown,
        }
    }
}

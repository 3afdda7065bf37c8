//! The seam behind which a person is asked whether a call may run: what they are shown, what they
//! answer, and how long they are waited for (`[approvals]` of the configuration).
//!
//! What is shown is built here, from the call and from what lies on disk; no guest and no model
//! words it.

mod words;

pub use words::SHOWN_UNITS_MAX;
pub(super) use words::describe_call;
pub use words::person;

use async_trait::async_trait;
use cofferdam_core::id::{CallId, Caller, TurnId};
use cofferdam_core::limits::TimeSpan;
use cofferdam_policy::GuestPath;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// A call that a person must approve.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// The call: the same again when its turn is replayed.
    pub call: CallId,
    /// Its turn.
    pub turn: TurnId,
    /// Who asked for it.
    pub caller: Caller,
    /// The tool.
    pub tool: String,
    /// What will happen, in lines; at most [`SHOWN_UNITS_MAX`] UTF-16 units.
    pub text: String,
    /// Names this very call, its policy and this text: lower-case hex.
    pub sha256: String,
    /// Paths that need no approval any more once this was approved and has gone on, for this tool
    /// and this person.
    pub remember: Vec<GuestPath>,
}

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// This person agreed.
    Approved(Caller),
    /// This person did not.
    Denied(Caller),
    /// Nobody answered in time.
    Expired,
    /// The call was cancelled before anybody answered.
    Withdrawn,
    /// Nobody could be asked, for this reason.
    Unasked(String),
}

/// Asks people. One is made for each turn; it knows where the turn belongs and who may decide.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Those of the paths that were approved before, for this tool and the person of this turn; none
    /// where nothing is remembered. May block.
    fn find_approved(&self, _tool: &str, _paths: &[GuestPath]) -> Vec<GuestPath> {
        Vec::new()
    }

    /// Remembers that the paths were approved, as [`Approver::find_approved`] finds them.
    async fn remember_approved(&self, _tool: &str, _paths: &[GuestPath]) {}

    /// The name of the person who asked for the turn's calls, by their own words, if that is known.
    fn asker_name(&self) -> Option<String> {
        None
    }

    /// Asks, and waits for an answer, for as long as its own limit allows. Asked again about the
    /// same `sha256` by a turn that runs again, it goes on where it was. Returns soon once `cancel`
    /// is cancelled.
    async fn decide(&self, approval: &ApprovalRequest, cancel: &CancellationToken) -> Decision;
}

/// How long a person is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// An approval that nobody gave by then is denied; from 1 s to [`EXPIRES_MAX`].
    pub expires: TimeSpan,
}

/// The longest that an approval may wait.
pub const EXPIRES_MAX: TimeSpan = TimeSpan::seconds(24 * 60 * 60);

impl Default for Config {
    fn default() -> Self {
        Self { expires: TimeSpan::seconds(10 * 60) }
    }
}

impl Config {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// What to write instead.
    pub fn check(&self) -> Result<(), String> {
        let fits = (TimeSpan::seconds(1)..=EXPIRES_MAX).contains(&self.expires);
        let said = || format!("expires = \"{}\" is not from 1s to 24h; write e.g. \"10m\"", self.expires);
        if fits { Ok(()) } else { Err(said()) }
    }
}

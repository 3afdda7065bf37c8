//! One thread that removes what sessions left in their `/tmp`, at the start and then every hour.
//!
//! It decides nothing: which ones, and that no call loses a file, is the publisher's business.

use super::GatewayError;
use cofferdam_warden::publish::Workspaces;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

/// Between two rounds.
const PAUSE: Duration = Duration::from_secs(3600);

/// Starts the thread. It ends with the workspaces, at its next round.
///
/// # Errors
/// When the system refuses a thread.
pub(super) fn start(workspaces: &Arc<Workspaces>) -> Result<(), GatewayError> {
    let workspaces = Arc::downgrade(workspaces);
    let thread = std::thread::Builder::new().name("expire".into()).spawn(move || run(&workspaces));
    let what = "cannot start a thread that removes old files of sessions";
    thread.map(drop).map_err(|cause| GatewayError::State { what: what.into(), cause })
}

fn run(workspaces: &Weak<Workspaces>) {
    while let Some(workspaces) = workspaces.upgrade() {
        let expired = workspaces.expire(SystemTime::now());
        drop(workspaces);
        let (sessions, leftovers, left) = (expired.sessions, expired.leftovers, expired.left);
        if sessions + left as u64 + leftovers as u64 > 0 {
            tracing::info!(
                sessions,
                leftovers,
                left,
                "removed the files of sessions that nobody uses any more"
            );
        }
        std::thread::sleep(PAUSE);
    }
}

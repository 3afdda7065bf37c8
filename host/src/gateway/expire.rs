//! One thread that removes what sessions left in their `/tmp`, at the start and then every hour.
//!
//! It decides nothing: which ones, and that no call loses a file, is the publisher's business.

use super::GatewayError;
use cofferdam_store as store;
use cofferdam_warden::publish::Workspaces;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Between two rounds.
const PAUSE: Duration = Duration::from_secs(3600);
/// Between two looks whether the time of the server that nodes share is known.
const UNKNOWN_PAUSE: Duration = Duration::from_secs(1);

/// Starts the thread. It ends with the workspaces, at its next round. Where nodes share them it
/// goes by the server's clock: one whose own is ahead would remove what others use.
///
/// # Errors
/// When the system refuses a thread.
pub(super) fn start(workspaces: &Arc<Workspaces>, is_shared: bool) -> Result<(), GatewayError> {
    let workspaces = Arc::downgrade(workspaces);
    let thread = std::thread::Builder::new().name("expire".into()).spawn(move || {
        while is_shared && !store::follows_server() && workspaces.strong_count() > 0 {
            std::thread::sleep(UNKNOWN_PAUSE);
        }
        run(&workspaces);
    });
    let what = "cannot start a thread that removes old files of sessions";
    thread.map(drop).map_err(|cause| GatewayError::State(what.into(), cause))
}

fn run(workspaces: &Weak<Workspaces>) {
    while let Some(workspaces) = workspaces.upgrade() {
        let expired = workspaces.expire(store::now());
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

//! The files that a call adds to the reply of its turn: there is no reply here, so they are held
//! for as long as the call lasts.

use cofferdam_core::id::TurnId;
use cofferdam_warden::attachments::outgoing::Outgoing;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::SystemTime;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// What one call holds. Dropped, it lets go, since a call may end where nobody waits for it.
pub(crate) struct TurnFiles {
    outgoing: Outgoing,
    turn: TurnId,
    runtime: Handle,
}

impl TurnFiles {
    /// Those of a call that begins.
    pub(crate) fn begin(outgoing: &Outgoing, turn: &TurnId) -> Self {
        Self { outgoing: outgoing.clone(), turn: turn.clone(), runtime: Handle::current() }
    }

    /// Lets go, and returns when the bytes are gone: the next call has their room.
    pub(crate) async fn end(self) {
        if let Some(sweep) = self.release() {
            // Where it fails, or the program stops, a later one has more to do.
            let _ = sweep.await;
        }
    }

    /// What removes the bytes; none where there are none, as after most calls. On another thread:
    /// the disk may be slow.
    fn release(&self) -> Option<JoinHandle<()>> {
        self.outgoing.release(&self.turn).then(|| {
            let outgoing = self.outgoing.clone();
            self.runtime.spawn_blocking(move || sweep(&outgoing))
        })
    }
}

impl Drop for TurnFiles {
    fn drop(&mut self) {
        drop(self.release());
    }
}

/// Removes what no call holds: the folder is this process's, so nobody else needs it.
fn sweep(outgoing: &Outgoing) {
    let Ok(()) = outgoing.sweep(SystemTime::now(), || Ok::<_, Infallible>(BTreeSet::new()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::limits::ByteSize;
    use cofferdam_core::tool::{ErrorCode, ToolError};
    use cofferdam_warden::attachments::outgoing::{Config, OutgoingBytes, OutgoingFile};
    use std::path::Path;
    use std::time::{Duration, Instant};

    /// Room for one file and not for two.
    fn outgoing(dir: &Path) -> Outgoing {
        let limits = Config { max_held_bytes: ByteSize(15), ..Config::default() };
        Outgoing::open_beside(dir, limits).expect("it opens")
    }

    fn turn(n: usize) -> TurnId {
        TurnId::new(format!("mcp-{n}"))
    }

    /// Adds ten bytes, others for each.
    fn add(outgoing: &Outgoing, n: usize) -> Result<String, ToolError> {
        let body = OutgoingBytes::Contents(format!("{n:010}").into_bytes());
        let file = OutgoingFile { body, name: Some("a.txt".to_owned()), mime_type: None };
        let mut addition = outgoing.addition(&turn(n));
        let added = addition.take(vec![file], &|| Ok(()))?;
        addition.keep();
        Ok(added[0].sha256.clone())
    }

    #[tokio::test]
    async fn each_call_has_the_room_that_earlier_ones_had() {
        let dir = tempfile::tempdir().expect("a folder");
        let outgoing = outgoing(dir.path());
        for n in 0..20 {
            let files = TurnFiles::begin(&outgoing, &turn(n));
            let added = add(&outgoing, n).expect("there is room");
            assert!(outgoing.holds(&added), "while the call lasts");
            let full = add(&outgoing, n + 100).expect_err("full");
            assert_eq!(full.code, ErrorCode::NoSpace);
            files.end().await;
            assert!(!outgoing.holds(&added));
        }
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_lets_go_and_others_keep_what_they_hold() {
        let dir = tempfile::tempdir().expect("a folder");
        let outgoing = outgoing(dir.path());
        let other = outgoing.with_limits(Config::default());
        let files = [1, 2].map(|n| TurnFiles::begin(&outgoing, &turn(n)));
        let added = [1, 2].map(|n| add(&other, n).expect("there is room"));
        let [first, second] = files;
        drop(first);
        let began = Instant::now();
        while outgoing.holds(&added[0]) {
            assert!(began.elapsed() < Duration::from_secs(30), "it is still there");
            tokio::task::yield_now().await;
        }
        assert!(outgoing.holds(&added[1]));
        second.end().await;
        assert!(!outgoing.holds(&added[1]));
    }

    #[tokio::test]
    async fn a_call_that_adds_nothing_sweeps_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let outgoing = outgoing(dir.path());
        assert!(TurnFiles::begin(&outgoing, &turn(1)).release().is_none());
    }
}

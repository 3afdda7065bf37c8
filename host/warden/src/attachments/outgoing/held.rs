//! What the turns of this process hold, and what sweeps have to know of it.

use cofferdam_core::id::TurnId;
use cofferdam_core::message::OutgoingAttachment;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::SystemTime;

/// What the turns of this process hold.
#[derive(Default)]
pub(super) struct Turns {
    /// What each has added, in order, and the call that did.
    pub(super) files: HashMap<TurnId, Vec<(u64, OutgoingAttachment)>>,
    /// Nothing was added since the last sweep, and that left nothing.
    pub(super) swept: bool,
    /// What the last sweep left to other nodes.
    pub(super) left: LeftBlobs,
    /// What turns let go of while a sweep asks the store, which may have answered before it was
    /// told that a reply needs it. None while no sweep asks.
    pub(super) let_go: Option<BTreeSet<String>>,
}

impl Turns {
    /// Counts the files of a call as a turn's.
    pub(super) fn hold<'a>(
        &mut self,
        turn: &TurnId,
        call: u64,
        files: impl IntoIterator<Item = &'a OutgoingAttachment>,
    ) {
        let kept = files.into_iter().map(|file| (call, file.clone()));
        self.files.entry(turn.clone()).or_default().extend(kept);
    }

    /// Has a sweep that is under way leave files that a turn held.
    pub(super) fn note_let_go<'a>(&mut self, files: impl IntoIterator<Item = &'a OutgoingAttachment>) {
        if let Some(let_go) = &mut self.let_go {
            let_go.extend(files.into_iter().map(|file| file.sha256.clone()));
        }
    }
}

/// Blobs that nobody needed at a sweep, and that were too young to go: when each was written. The
/// same bytes that come again are written again.
pub(super) type LeftBlobs = BTreeMap<String, SystemTime>;

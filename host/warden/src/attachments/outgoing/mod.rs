//! Blobs of replies: the bytes of a file as they were when a tool added or composed it, held by
//! content until the reply is out.
//!
//! A call takes files in; delivery opens blobs by their SHA-256 and never a path. What a call took
//! and did not end well is not part of any reply. It refuses what is over a limit before it is
//! kept, and removes nothing that a turn or the store still needs.

mod bucket;
mod held;
mod name;
mod place;
mod source;
mod take;
#[cfg(test)]
mod tests;

pub use bucket::{BLOBS_LISTED_MAX, BUCKET_SWEPT_EVERY, Bucket, BucketSweep, StoredBlob};
pub use source::{CONTENTS_BYTES_MAX, OutgoingBytes, OutgoingFile};

use cofferdam_core::audit::Effect;
use cofferdam_core::id::TurnId;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::lock::lock;
use cofferdam_core::message::{Address, OutgoingAttachment};
use cofferdam_core::text::with_causes;
use cofferdam_core::tool::{ErrorCode, ToolError};
use held::{LeftBlobs, Turns};
use place::BlobFolder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

/// Limits on what tools add to replies, `[replies]` of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// One file.
    pub max_bytes: ByteSize,
    /// All files that one call adds together.
    pub max_call_bytes: ByteSize,
    /// All files of one reply together.
    pub max_turn_bytes: ByteSize,
    /// Files of one reply.
    pub max_count: u32,
    /// Everything that is held until it is sent.
    pub max_held_bytes: ByteSize,
}

/// Below what every platform takes of a bot, and room for a day on which none is reached.
impl Default for Config {
    fn default() -> Self {
        Self {
            max_bytes: ByteSize::mib(20),
            max_call_bytes: ByteSize::mib(40),
            max_turn_bytes: ByteSize::mib(50),
            max_count: 10,
            max_held_bytes: ByteSize(1 << 30),
        }
    }
}

/// From the moment at which a node has written a blob until the store says who needs it, and long
/// after that.
pub const UNSAID_AGE_MAX: Duration = Duration::from_secs(60 * 60);

/// Where the blobs of replies are, and which of them running turns hold. Cheap to clone.
#[derive(Clone)]
pub struct Outgoing {
    shared: Arc<Inner>,
    /// Where all nodes hold them, where that is not the folder.
    bucket: Option<Arc<dyn Bucket>>,
    limits: Config,
}

struct Inner {
    place: BlobFolder,
    /// Locked from a sweep's first look at the folder to its last removal there.
    sweeping: Mutex<()>,
    /// Every turn that ends waits for it: not locked while a sweep asks the store.
    turns: Mutex<Turns>,
    calls: AtomicU64,
    /// When the bucket was swept last; locked while it is.
    bucket_swept: Mutex<Option<Instant>>,
}

impl Outgoing {
    /// The blobs of the one `serve`: they outlive it. What other processes have left behind is
    /// removed.
    ///
    /// # Errors
    /// When the folder cannot be made or listed.
    pub fn open(dir: &Path, limits: Config) -> io::Result<Self> {
        Ok(Self::at(BlobFolder::open_shared(dir, Duration::ZERO)?, limits))
    }

    /// The same where several nodes have the folder: what one has just written is removed by none.
    ///
    /// # Errors
    /// As [`Outgoing::open`].
    pub fn open_with_nodes(dir: &Path, limits: Config) -> io::Result<Self> {
        Ok(Self::at(BlobFolder::open_shared(dir, UNSAID_AGE_MAX)?, limits))
    }

    /// The blobs of a process beside it: they go when it ends.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn open_beside(dir: &Path, limits: Config) -> io::Result<Self> {
        Ok(Self::at(BlobFolder::private(dir)?, limits))
    }

    fn at(place: BlobFolder, limits: Config) -> Self {
        let inner = Inner {
            place,
            sweeping: Mutex::default(),
            turns: Mutex::default(),
            calls: AtomicU64::new(0),
            bucket_swept: Mutex::default(),
        };
        Self { shared: Arc::new(inner), bucket: None, limits }
    }

    /// The same in front of a bucket, by which other nodes have what is taken in; a process beside
    /// only asks it.
    #[must_use]
    pub fn with_bucket(self, bucket: Arc<dyn Bucket>) -> Self {
        Self { bucket: Some(bucket), ..self }
    }

    /// The same blobs under other limits.
    #[must_use]
    pub fn with_limits(&self, limits: Config) -> Self {
        Self { limits, ..self.clone() }
    }

    /// What one call of a turn adds. Dropped before [`Addition::keep`] it has added nothing.
    pub fn addition(&self, turn: &TurnId) -> Addition {
        let call = self.shared.calls.fetch_add(1, Ordering::Relaxed);
        let resolve: Resolve =
            Arc::new(|_| Err(ToolError::new(ErrorCode::NotFound, "there is no other reply here")));
        Addition { outgoing: self.clone(), turn: turn.clone(), call, files: Vec::new(), kept: false, resolve }
    }

    /// Counts the files of a call that is answered from the journal as the turn's. False when a
    /// blob is gone, and then none is counted: the call must run again.
    pub fn adopt(&self, turn: &TurnId, files: &[OutgoingAttachment]) -> bool {
        // Not under the lock: a bucket takes its time.
        for file in files {
            if let Err(error) = self.fetch(file) {
                tracing::warn!(error = with_causes(&error), "a file of a call cannot be had from the bucket");
                return false;
            }
        }
        let mut turns = self.turns();
        if !files.iter().all(|file| self.shared.place.has(&file.sha256)) {
            return false;
        }
        let call = self.shared.calls.fetch_add(1, Ordering::Relaxed);
        if !files.is_empty() {
            turns.hold(turn, call, files);
        }
        true
    }

    /// Whether the blob is there, or with the one `serve`. A bucket that cannot be asked has none.
    pub fn holds(&self, sha256: &str) -> bool {
        let failed =
            |error: &io::Error| tracing::warn!(error = with_causes(error), "the bucket cannot be asked");
        let has = |bucket: &Arc<dyn Bucket>| bucket.has(sha256).inspect_err(failed).unwrap_or_default();
        self.shared.place.has(sha256) || self.bucket.as_ref().is_some_and(has)
    }

    /// The bytes of a blob.
    ///
    /// # Errors
    /// When it is not here.
    pub fn file(&self, sha256: &str) -> io::Result<File> {
        let path = self.shared.place.blob(sha256).ok_or(io::ErrorKind::NotFound)?;
        File::open(path)
    }

    /// Has the blob of a file here that another node took in, and with all its bytes. Blocks on the
    /// bucket.
    ///
    /// # Errors
    /// The bucket's: it may have it later; [`io::ErrorKind::InvalidData`] where there are other
    /// bytes, or fewer, and no right ones. One that is nowhere is no error here.
    pub fn fetch(&self, file: &OutgoingAttachment) -> io::Result<()> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        let here = self.file(&file.sha256).and_then(|here| here.metadata());
        if here.as_ref().is_ok_and(|meta| meta.len() == file.bytes) {
            return Ok(());
        }
        // One byte more would be another file.
        let bytes_max = file.bytes.min(self.limits.max_bytes.0);
        match bucket::fetch(&**bucket, &self.shared.place, &file.sha256, bytes_max) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match here {
                Err(_) => Ok(()),
                Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "a crash has cut it short")),
            },
            fetched => fetched,
        }
    }

    /// Forgets what a turn holds: from here on the store says what is in use. Whether it held
    /// anything.
    pub fn release(&self, turn: &TurnId) -> bool {
        let mut turns = self.turns();
        let held = turns.files.remove(turn);
        turns.note_let_go(held.iter().flatten().map(|(_, file)| file));
        held.is_some()
    }

    /// Removes every blob that no turn of this process has held since `in_use` was asked, and that
    /// is not among what that says; no turn waits for its answer. Without anything added since the
    /// last sweep it does nothing. What other nodes may have written is as old as it is at `now`,
    /// by the clock that the nodes share: the machine's may be hours ahead. Blocks on the disk and
    /// the bucket.
    ///
    /// # Errors
    /// What `in_use` says; then nothing is removed.
    pub fn sweep<E>(
        &self,
        now: SystemTime,
        in_use: impl FnOnce() -> Result<BTreeSet<String>, E>,
    ) -> Result<(), E> {
        if let Some(bucket) = self.sweep_folder(now, in_use)? {
            bucket.run();
        }
        Ok(())
    }

    /// The same without the bucket, which may be away: what sweeps that is returned, to be run
    /// where nobody waits for it. None while another one is under way, and for
    /// [`BUCKET_SWEPT_EVERY`] after it: what is left goes with a later one. Blocks on the disk.
    ///
    /// # Errors
    /// As [`Outgoing::sweep`].
    pub fn sweep_beside<E>(
        &self,
        now: SystemTime,
        in_use: impl FnOnce() -> Result<BTreeSet<String>, E>,
    ) -> Result<Option<BucketSweep>, E> {
        Ok(self.sweep_folder(now, in_use)?.and_then(BucketSweep::if_due))
    }

    /// Sweeps the folder; what sweeps the bucket then, if there is one.
    fn sweep_folder<E>(
        &self,
        now: SystemTime,
        in_use: impl FnOnce() -> Result<BTreeSet<String>, E>,
    ) -> Result<Option<BucketSweep>, E> {
        // Another sweep begins when this one has said what it left.
        let _sweeping = lock(&self.shared.sweeping);
        {
            let mut turns = self.turns();
            if turns.swept {
                return Ok(None);
            }
            turns.let_go = Some(BTreeSet::new());
        }
        let in_use = in_use();
        let mut turns = self.turns();
        let let_go = turns.let_go.take().unwrap_or_default();
        let mut kept = in_use?;
        kept.extend(let_go);
        kept.extend(turns.files.values().flatten().map(|(_, held)| held.sha256.clone()));
        let mut left = LeftBlobs::new();
        // Still locked: nothing is added meanwhile.
        turns.swept = !self.shared.place.remove_all_but(&kept, now, &mut left);
        let Some(bucket) = self.own_bucket().cloned() else {
            turns.left = left;
            return Ok(None);
        };
        // Not locked meanwhile: a bucket's are old when they go, so nothing that is added then is
        // among them.
        Ok(Some(BucketSweep { outgoing: self.clone(), bucket, kept, now, left }))
    }

    /// The bucket that this process adds to.
    fn own_bucket(&self) -> Option<&Arc<dyn Bucket>> {
        self.bucket.as_ref().filter(|_| !self.shared.place.is_private())
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        lock(&self.shared.turns)
    }
}

/// The files that one call adds to the reply of its turn.
pub struct Addition {
    outgoing: Outgoing,
    turn: TurnId,
    call: u64,
    /// Each with the path that it was read from, if it was.
    files: Vec<(Option<String>, OutgoingAttachment)>,
    kept: bool,
    resolve: Resolve,
}

/// Finds the request that a call means.
pub type Resolve = Arc<dyn Fn(&Address) -> Result<TurnId, ToolError> + Send + Sync>;

impl Addition {
    /// The same for a call that may name another request than its own, which this finds.
    #[must_use]
    pub fn reaching(mut self, resolve: Resolve) -> Self {
        self.resolve = resolve;
        self
    }

    /// Has what is added go to the request that is meant. All of a call's files go to one request.
    ///
    /// # Errors
    /// What the address finds; `invalid_arguments` where something was added elsewhere.
    pub fn address(&mut self, to: &Address) -> Result<(), ToolError> {
        let turn = (self.resolve)(to)?;
        if turn != self.turn && !self.files.is_empty() {
            let said = "one call adds files to one reply; make another call for another";
            return Err(ToolError::new(ErrorCode::InvalidArguments, said));
        }
        self.turn = turn;
        Ok(())
    }

    /// The request whose reply they go with.
    pub fn request(&self) -> &TurnId {
        &self.turn
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What was added, in order.
    pub fn attachments(&self) -> Vec<OutgoingAttachment> {
        self.files.iter().map(|(_, file)| file.clone()).collect()
    }

    /// What was added, as the audit tells it.
    pub fn effects(&self) -> Vec<Effect> {
        let effect = |(path, file): &(Option<String>, OutgoingAttachment)| Effect::Attached {
            path: path.clone(),
            attached: file.name.clone(),
            bytes: file.bytes,
            sha256: file.sha256.clone(),
        };
        self.files.iter().map(effect).collect()
    }

    /// The call ended well: its files are the turn's until [`Outgoing::release`].
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Addition {
    fn drop(&mut self) {
        if self.kept || self.files.is_empty() {
            return;
        }
        let mut turns = self.outgoing.turns();
        turns.note_let_go(self.files.iter().map(|(_, file)| file));
        if let Some(held) = turns.files.get_mut(&self.turn) {
            held.retain(|(call, _)| *call != self.call);
            if held.is_empty() {
                turns.files.remove(&self.turn);
            }
        }
    }
}

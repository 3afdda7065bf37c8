//! Builds a turn's attachments, in order, under the limits of a message.
//!
//! Every item keeps its index; one that fails says why in a short sentence.
//! What was declared decides only whether a download begins: what arrives is counted, hashed and
//! sniffed.

use super::Config;
use super::blob::Blob;
use super::list::{Attachment, Attachments};
use super::sniff::{UNKNOWN_TYPE, sniff};
use super::store::{BlobError, BlobStore, BlobWriter};
use super::turn_bytes::ByteClaim;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::text::{about, one_line};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A longer reason is cut.
const REASON_BYTES_MAX: usize = 200;

/// What the channel says of an attachment before its bytes are there.
#[derive(Clone, Debug, Default)]
pub struct DeclaredFile {
    /// The sender's file name.
    pub name: Option<String>,
    /// The sender's media type.
    pub mime_type: Option<String>,
    /// Length in bytes. Fewer bytes than this count as a broken download.
    pub size: Option<u64>,
    /// Where it comes from, without secrets; see [`AttachmentInfo::source`].
    pub source: Option<String>,
}

/// The attachments of one turn in the making. A channel's message bounds how many are offered.
pub struct Intake {
    config: Config,
    store: BlobStore,
    /// Bytes that its downloads hold.
    taken: Arc<AtomicU64>,
    items: Vec<Attachment>,
}

impl Intake {
    /// Nothing came yet.
    pub fn new(store: &BlobStore, config: &Config) -> Self {
        Self { config: config.clone(), store: store.clone(), taken: Arc::default(), items: Vec::new() }
    }

    /// Gives the next index away. `None`: it is over a limit already, which is recorded; do not
    /// fetch it.
    ///
    /// Downloads of one intake may run side by side.
    #[must_use]
    pub fn admit(&mut self, declared: DeclaredFile) -> Option<Download> {
        let expected = declared.size;
        let info = self.info_of(declared);
        let claim = self.claim(info.index, expected);
        let reason = match &claim {
            Ok(_) => "the download did not finish",
            Err(reason) => reason,
        };
        self.items.push(unavailable(info.clone(), reason));
        let claim = claim.ok()?;
        let writer = self.store.writer(self.config.max_bytes);
        Some(Download { info, expected, claim, writer, failed: None })
    }

    /// Gives the next index to an attachment that cannot be fetched.
    pub fn refuse(&mut self, declared: DeclaredFile, reason: &str) {
        self.items.push(unavailable(self.info_of(declared), reason));
    }

    /// Takes all of `source` as the next attachment. For sources on this machine.
    pub fn read(&mut self, declared: DeclaredFile, source: &mut dyn Read) {
        let Some(mut download) = self.admit(declared) else { return };
        let mut buffer = vec![0; 64 << 10];
        let settled = loop {
            match source.read(&mut buffer) {
                Ok(0) => break download.finish(),
                Ok(n) if download.write(&buffer[..n]).is_ok() => {}
                Ok(_) => break download.finish(),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => break download.fail(&format!("it could not be read ({error})")),
            }
        };
        self.settle(settled);
    }

    /// Puts a download that ended in its place.
    pub fn settle(&mut self, settled: Attachment) {
        if let Some(item) = self.items.get_mut(settled.info.index as usize) {
            *item = settled;
        }
    }

    /// The list. What was not settled is unavailable.
    pub fn finish(self) -> Attachments {
        self.items.into()
    }

    /// The share of the turn's bytes that a download begins with, or why it must not begin.
    fn claim(&self, index: u32, expected: Option<u64>) -> Result<ByteClaim, String> {
        let Config { max_bytes, max_turn_bytes, max_count } = &self.config;
        if index >= *max_count {
            let number = u64::from(index) + 1;
            return Err(format!("too many: it is number {number}, and a message may bring {max_count}"));
        }
        let expected = expected.unwrap_or(0);
        if expected > max_bytes.0 {
            return Err(format!("too large: {}, and the limit is {max_bytes}", about(expected)));
        }
        let mut claim = ByteClaim::new(&self.taken, *max_turn_bytes);
        claim.grow_to(expected)?;
        Ok(claim)
    }

    /// What is said of the next attachment.
    fn info_of(&self, declared: DeclaredFile) -> AttachmentInfo {
        let shown = |text: Option<String>, bytes_max| AttachmentInfo::sanitize(text.as_deref(), bytes_max);
        AttachmentInfo {
            index: u32::try_from(self.items.len()).unwrap_or(u32::MAX),
            name: shown(declared.name, AttachmentInfo::NAME_BYTES_MAX),
            mime_type: UNKNOWN_TYPE.to_owned(),
            declared_mime_type: shown(declared.mime_type, AttachmentInfo::MIME_BYTES_MAX),
            size: declared.size.unwrap_or(0),
            sha256: String::new(),
            unavailable: None,
            source: shown(declared.source, AttachmentInfo::SOURCE_BYTES_MAX),
        }
    }
}

/// One download under way. Dropped, its attachment stays unavailable.
pub struct Download {
    pub(super) info: AttachmentInfo,
    expected: Option<u64>,
    claim: ByteClaim,
    writer: BlobWriter,
    failed: Option<String>,
}

impl Download {
    /// Bytes that have arrived.
    pub fn bytes_arrived(&self) -> u64 {
        self.writer.bytes_written()
    }

    /// Appends what arrived. Writes to the spool file when the attachment is large.
    ///
    /// # Errors
    /// Why it is over a limit, before a byte over that is kept, or cannot be stored: fetching on is
    /// of no use. The reason is remembered: `finish` tells it.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.failed.is_none() {
            self.failed = self.take(bytes).err();
        }
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        let total = self.writer.bytes_written().saturating_add(bytes.len() as u64);
        // Its own limit is the one to name when both are exceeded.
        if total <= self.writer.limit.0 {
            self.claim.grow_to(total)?;
        }
        self.writer.write(bytes).map_err(|error| match error {
            BlobError::OverLimit(limit) => {
                format!("too large: {} and more, and the limit is {limit}", about(total))
            }
            BlobError::Spool(_) => error.to_string(),
        })
    }

    /// All bytes arrived: hashes and sniffs them. Reads from disk when the attachment is large.
    pub fn finish(self) -> Attachment {
        let got = self.writer.bytes_written();
        if let Some(reason) = &self.failed {
            return unavailable(self.info, reason);
        }
        if let Some(expected) = self.expected.filter(|expected| got < *expected) {
            return self.fail(&format!("truncated: {got} of {expected} bytes arrived; send it again"));
        }
        let Self { info, mut claim, writer, .. } = self;
        claim.shrink_to(got);
        // The bytes of the turn stay counted for as long as the turn takes more.
        claim.keep();
        available(info, writer.finish())
    }

    /// The download failed for a reason that the channel knows.
    pub fn fail(self, reason: &str) -> Attachment {
        unavailable(self.info, reason)
    }
}

fn available(info: AttachmentInfo, blob: Blob) -> Attachment {
    let mime_type = sniff(&mut blob.reader());
    let sha256 = hex::encode(blob.sha256());
    Attachment { info: AttachmentInfo { mime_type, size: blob.len(), sha256, ..info }, blob: Some(blob) }
}

fn unavailable(info: AttachmentInfo, reason: &str) -> Attachment {
    let unavailable = Some(one_line(reason, REASON_BYTES_MAX));
    Attachment { info: AttachmentInfo { unavailable, ..info }, blob: None }
}

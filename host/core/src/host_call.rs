//! What a running guest can ask of the gateway, as plain values: the words that cross where a guest
//! runs in a process of its own.
//!
//! They grant nothing: the gateway holds them against the call's permit.

use crate::attachment::AttachmentInfo;
use crate::audit::EntryKind;
use crate::message::{Address, DirectMessage, OutgoingAttachment, SentMessage};
use crate::web::{HttpFailure, HttpHead, HttpRequest};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_bytes::{ByteBuf, Bytes};
use std::fmt;
use std::marker::PhantomData;

/// Names a staged file within its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StagedId(pub u32);

/// Names an answer of a server within its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HttpId(pub u32);

/// What a write does to what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Disposition {
    /// Refuse.
    CreateNew,
    /// Replace a regular file, keeping its mode; create it when there is none.
    Replace,
}

/// What becomes of a directory's content when the directory is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contents {
    /// It stays: only an empty directory is removed.
    Keep,
    /// It goes too.
    Remove,
}

/// Length and SHA-256 of bytes that were taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentHash {
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256, lower-case hex.
    pub sha256: String,
}

/// What a planned rename or removal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planning {
    /// What has the name.
    pub kind: EntryKind,
    /// Files, directories and others, the named one included.
    pub entries: u64,
    /// Length of all regular files among them.
    pub bytes: u64,
}

/// A file that is to go out with the reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyFile {
    /// Where its bytes come from.
    pub source: ReplySource,
    /// The name that the person sees, if the guest has one.
    pub name: Option<String>,
    /// Its media type, as the guest says.
    pub mime_type: Option<String>,
}

/// Where the bytes of a file come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplySource {
    /// A workspace file, by its virtual path.
    Path(String),
    /// The guest.
    Contents(ByteBuf),
}

/// Bytes of output that one call may leave in the log; the rest is counted and dropped.
pub const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// What a line costs in the log besides its text (time, level, place): counted, or short lines
/// would leave a hundred times the cap.
pub const LINE_OVERHEAD_BYTES: usize = 96;

/// Files of one [`Request::AddToReply`]. A file of no length takes 70 bytes of memory for five on
/// the wire, so the list is bounded as it is read, before anybody looks at what is granted.
pub const FILES_MAX: usize = 1000;

/// At most [`FILES_MAX`].
pub(crate) fn read_files<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    wire: D,
) -> Result<Vec<T>, D::Error> {
    read_bounded(wire, FILES_MAX, "files")
}

/// A list that is bounded as it is read; `what` it holds is said where it is too long.
pub(crate) fn read_bounded<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    wire: D,
    max: usize,
    what: &'static str,
) -> Result<Vec<T>, D::Error> {
    struct AtMost<T>(usize, &'static str, PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for AtMost<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {} {}", self.0, self.1)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(item) = seq.next_element()? {
                if list.len() == self.0 {
                    return Err(A::Error::invalid_length(self.0 + 1, &self));
                }
                list.push(item);
            }
            Ok(list)
        }
    }
    wire.deserialize_seq(AtMost::<T>(max, what, PhantomData))
}

/// What a guest asks for. Each is answered by one [`Reply`] before the next is looked at.
#[derive(Debug, Serialize, Deserialize)]
pub enum Request<'a> {
    /// The attachments within reach.
    Attachments,
    /// The bytes of one.
    Attachment(u32),
    /// Stages a file.
    Stage {
        /// The virtual path.
        path: &'a str,
        /// What becomes of one that is there.
        disposition: Disposition,
    },
    /// Appends bytes to a staged file.
    Write {
        /// The file.
        file: StagedId,
        /// What is appended.
        #[serde(borrow)]
        bytes: &'a Bytes,
    },
    /// Appends an attachment to a staged file.
    AppendAttachment {
        /// The file.
        file: StagedId,
        /// The attachment.
        index: u32,
    },
    /// Appends a workspace file to a staged file.
    AppendFile {
        /// The file.
        file: StagedId,
        /// The virtual path of the other.
        path: &'a str,
    },
    /// Publishes a staged file only over one with this content.
    Expect {
        /// The file.
        file: StagedId,
        /// SHA-256, lower-case hex.
        sha256: &'a str,
    },
    /// Seals a staged file.
    Seal(StagedId),
    /// Plans a rename.
    Rename {
        /// The virtual path it has.
        from: &'a str,
        /// The virtual path it is to have.
        to: &'a str,
        /// What becomes of one that is there.
        disposition: Disposition,
    },
    /// Plans a removal.
    Remove {
        /// The virtual path.
        path: &'a str,
        /// What becomes of what is in it.
        contents: Contents,
    },
    /// Whether the turn was cancelled.
    Cancelled,
    /// Adds files to the reply to a request, all of them or none.
    AddToReply(#[serde(deserialize_with = "read_files")] Vec<ReplyFile>, Address),
    /// Writes to somebody.
    Send(DirectMessage),
    /// Begins a workflow of the turn; its summary.
    BeginWorkflow(Option<String>),
    /// Has the reply to a message of a workflow go on with the request.
    WaitForReply {
        /// The workflow.
        workflow: String,
        /// The platform's id of the message.
        message: String,
        /// How long, in milliseconds.
        timeout_ms: Option<u64>,
    },
    /// A piece of the body of the next request over HTTP.
    HttpBody(#[serde(borrow)] &'a Bytes),
    /// Sends a request over HTTP with the pieces that came before it.
    HttpSend(HttpRequest),
    /// The next piece of an answer's body.
    HttpRead(HttpId),
}

/// What a guest tells; not answered.
#[derive(Debug, Serialize, Deserialize)]
pub enum Notification<'a> {
    /// A staged file is of no use any more.
    Discard(StagedId),
    /// What the call is doing.
    Report(&'a str),
    /// A line that the guest printed.
    Log(&'a str),
    /// The rest of an answer is of no use any more.
    HttpClose(HttpId),
}

/// The answer to a [`Request`], in the order of the requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// To [`Request::Attachments`].
    Attachments(Vec<AttachmentInfo>),
    /// To [`Request::Attachment`].
    Attachment(AttachmentBytes),
    /// To [`Request::Stage`].
    Staged(StagedId),
    /// To [`Request::AppendAttachment`]: its length in bytes.
    Appended(u64),
    /// To [`Request::AppendFile`] and [`Request::Seal`].
    Taken(ContentHash),
    /// To [`Request::Rename`] and [`Request::Remove`].
    Planned(Planning),
    /// To [`Request::Cancelled`].
    Cancelled(bool),
    /// To [`Request::AddToReply`]: the files as they go out.
    Added(Vec<OutgoingAttachment>),
    /// To [`Request::Send`].
    Sent(SentMessage),
    /// To [`Request::BeginWorkflow`]: its id.
    Begun(String),
    /// To [`Request::HttpSend`].
    HttpHead(HttpId, HttpHead),
    /// To [`Request::HttpRead`]; nothing at the end.
    HttpPiece(ByteBuf),
    /// To [`Request::HttpSend`] and [`Request::HttpRead`]: why there is no more.
    HttpFailed(HttpFailure),
    /// To [`Request::Write`], [`Request::Expect`], [`Request::WaitForReply`] and
    /// [`Request::HttpBody`].
    Done,
}

/// An attachment's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachmentBytes {
    /// Length in bytes.
    pub len: u64,
    /// The bytes of a small one; those of a larger one are a file, whose descriptor comes with the
    /// message.
    pub inline: Option<ByteBuf>,
}

//! The gateway's side of a call in a worker: answers the guest's requests from the call's authority.
//!
//! The worker is not trusted: what it sends is decoded under bounds and reaches [`HostCalls`] alone.

use super::super::clock::Clock;
use super::super::host_calls::HostCalls;
use super::super::missing::Missing;
use super::asking::{ASK_BYTES_MAX, Ask, Content, FromWorker, Tell};
use super::socket::{Broken, Socket, decode};
use crate::attachments::{Blob, BlobBytes};
use cofferdam_core::tool::{ErrorCode, ToolError};
use rustix::fs::{CWD, Mode, OFlags, openat};
use serde_bytes::ByteBuf;
use std::borrow::Cow;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

#[cfg(test)]
mod tests;

/// How long after its end a call's worker may still answer before it is killed: a guest that waits in the
/// worker ends by itself, and its worker lives on.
pub const KILL_GRACE: Duration = Duration::from_millis(50);

/// How a conversation about a call ended.
pub(super) enum Ended {
    /// The worker said what came of it.
    Said(Result<String, ToolError>),
    /// The worker found no compiled code.
    NotCompiled(Missing),
}

/// Answers until the call is over. `result_bytes_max` bounds the guest's text.
///
/// # Errors
/// [`Broken`]: the worker is of no use any more.
pub(super) fn converse(
    socket: &mut Socket,
    calls: &mut dyn HostCalls,
    clock: &Clock,
    result_bytes_max: usize,
) -> Result<Ended, Broken> {
    let late = || clock.stop().is_some() && clock.over_for() >= KILL_GRACE;
    let bytes_max = ASK_BYTES_MAX + result_bytes_max;
    loop {
        // Here too, or a guest that never stops asking would never be late.
        if late() {
            return Err(Broken::Stopped);
        }
        let next = socket.receive(bytes_max, late, |bytes| {
            Ok(match decode(bytes)? {
                FromWorker::Ask(ask) => Next::Answer(answer(calls, ask)?),
                FromWorker::Tell(tell) => {
                    take(calls, tell);
                    Next::Go
                }
                FromWorker::NotCompiled(missing) => Next::End(Ended::NotCompiled(missing)),
                FromWorker::Ended(said) => Next::End(Ended::Said(said.map(Cow::into_owned))),
            })
        })?;
        match next {
            Next::Go => {}
            Next::Answer(Answer { message, descriptor }) => {
                let descriptor = descriptor.as_ref().map(AsFd::as_fd);
                socket.send_encoded(message, descriptor.as_slice(), late)?;
            }
            Next::End(ended) => return Ok(ended),
        }
    }
}

enum Next {
    Go,
    Answer(Answer),
    End(Ended),
}

/// An encoded answer, with what travels beside it.
struct Answer {
    message: Vec<u8>,
    descriptor: Option<OwnedFd>,
}

fn answer(calls: &mut dyn HostCalls, ask: Ask<'_>) -> Result<Answer, Broken> {
    let message = match ask {
        Ask::Attachments => Socket::encode(&calls.attachments()),
        Ask::Attachment(index) => return attachment(calls.attachment(index)),
        Ask::Stage { path, disposition } => Socket::encode(&calls.stage(path, disposition)),
        Ask::Write { file, bytes } => Socket::encode(&calls.write(file, bytes)),
        Ask::AppendAttachment { file, index } => Socket::encode(&calls.append_attachment(file, index)),
        Ask::AppendFile { file, path } => Socket::encode(&calls.append_file(file, path)),
        Ask::Expect { file, sha256 } => Socket::encode(&calls.expect(file, sha256)),
        Ask::Seal(file) => Socket::encode(&calls.seal(file)),
        Ask::Rename { from, to, disposition } => Socket::encode(&calls.rename(from, to, disposition)),
        Ask::Remove { path, contents } => Socket::encode(&calls.remove(path, contents)),
        Ask::AddToReply(files, to) => Socket::encode(&calls.add_to_reply(files, to)),
        Ask::Cancelled => Socket::encode(&Ok::<_, ToolError>(calls.cancelled())),
    };
    Ok(Answer { message: message?, descriptor: None })
}

fn take(calls: &mut dyn HostCalls, tell: Tell<'_>) {
    match tell {
        Tell::Discard(file) => calls.discard(file),
        Tell::Report(message) => calls.report(message),
        Tell::Log(line) => calls.log(line),
    }
}

fn attachment(opened: Result<Blob, ToolError>) -> Result<Answer, Broken> {
    let plain = |answer: &Result<Content, ToolError>, descriptor| {
        Ok(Answer { message: Socket::encode(answer)?, descriptor })
    };
    let blob = match opened {
        Ok(blob) => blob,
        Err(error) => return plain(&Err(error), None),
    };
    let told = |inline| Content { len: blob.len(), sha256: *blob.sha256(), inline };
    match blob.bytes() {
        BlobBytes::Memory(bytes) => plain(&Ok(told(Some(ByteBuf::from(&bytes[..])))), None),
        BlobBytes::File(file) => match read_only(file) {
            Ok(descriptor) => plain(&Ok(told(None)), Some(descriptor)),
            Err(error) => {
                let said = format!("the attachment cannot be read: {error}");
                plain(&Err(ToolError::new(ErrorCode::AttachmentUnavailable, said)), None)
            }
        },
    }
}

/// The same file through a descriptor that cannot write.
fn read_only(file: &std::fs::File) -> rustix::io::Result<OwnedFd> {
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    openat(CWD, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

//! What must hold for any bytes that a worker sends during a call: the conversation ends without a
//! panic, and asks of the gateway no more than whole messages said.
//!
//! Built for tests and, by a fuzz target that includes it, for libFuzzer.

use super::super::clock::CallClock;
use super::answer::{Answer, HostCalls, converse};
use cofferdam_core::host_call::{
    AttachmentBytes, ContentHash, HttpId, Notification, Planning, Reply, ReplySource, Request, StagedId,
};
use cofferdam_core::message::{DirectMessage, SentMessage};
use cofferdam_core::web::{HttpHead, HttpRequest};
use cofferdam_ipc::Socket;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use serde_bytes::ByteBuf;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Longest text of a result in the check.
const RESULT_BYTES_MAX: usize = 64 << 10;

/// Holds a conversation with a worker that sends these bytes and ends.
///
/// # Panics
/// Where a claim does not hold.
pub(crate) fn conversation(data: &[u8]) {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .expect("a pair of sockets");
    let mut socket = Socket::of_gateway(ours);
    let mut calls = CountingAuthority::default();
    // Far away: the end of the bytes ends the conversation, not the clock.
    let clock = CallClock::new(Instant::now() + Duration::from_secs(600), CancellationToken::new());
    std::thread::scope(|scope| {
        scope.spawn(|| worker(theirs.into(), data));
        // What comes of it is the pool's business; that something comes is ours.
        let _ = converse(&mut socket, &mut calls, &clock, RESULT_BYTES_MAX, None);
        drop(socket);
    });
    assert!(calls.asked <= data.len() / 10, "{} requests in {} bytes", calls.asked, data.len());
    assert!(calls.bytes <= data.len(), "{} bytes of requests in {} bytes", calls.bytes, data.len());
}

/// Sends everything while it takes in the answers, like a guest that does not wait.
fn worker(stream: UnixStream, data: &[u8]) {
    let reader = stream.try_clone().expect("a second handle");
    std::thread::scope(|scope| {
        scope.spawn(move || std::io::copy(&mut (&reader).take(u64::MAX), &mut std::io::sink()));
        // The gateway hangs up on nonsense.
        let _ = (&stream).write_all(data);
        let _ = stream.shutdown(std::net::Shutdown::Write);
    });
}

/// Counts what is asked, and refuses nothing.
#[derive(Default)]
struct CountingAuthority {
    asked: usize,
    bytes: usize,
}

impl CountingAuthority {
    fn count(&mut self, bytes: usize) {
        self.asked += 1;
        self.bytes += bytes;
    }
}

impl HostCalls for CountingAuthority {
    fn handle(&mut self, request: Request<'_>) -> Answer {
        let taken = || Reply::Taken(ContentHash { bytes: 0, sha256: String::new() });
        let planned = || {
            let kind = cofferdam_core::audit::EntryKind::File;
            Reply::Planned(Planning { kind, entries: 1, bytes: 0 })
        };
        let (bytes, reply) = match request {
            Request::Attachments => (0, Reply::Attachments(Vec::new())),
            Request::Attachment(_) => {
                let inline = Some(b"bytes".to_vec().into());
                (0, Reply::Attachment(AttachmentBytes { len: 5, inline }))
            }
            Request::Stage { path, .. } => (path.len(), Reply::Staged(StagedId(1))),
            Request::Write { bytes, .. } => (bytes.len(), Reply::Done),
            Request::AppendAttachment { .. } => (0, Reply::Appended(5)),
            Request::AppendFile { path, .. } => (path.len(), taken()),
            Request::Expect { sha256, .. } => (sha256.len(), Reply::Done),
            Request::Seal(_) => (0, taken()),
            Request::Rename { from, to, .. } => (from.len() + to.len(), planned()),
            Request::Remove { path, .. } => (path.len(), planned()),
            Request::Cancelled => (0, Reply::Cancelled(false)),
            Request::Send(DirectMessage { to, text, files, workflow }) => {
                let paths = files.iter().map(String::len).sum::<usize>();
                let named = workflow.map_or(0, |workflow| workflow.len());
                let sent = SentMessage::default();
                (to.len() + text.len() + paths + named, Reply::Sent(sent))
            }
            Request::BeginWorkflow(summary) => {
                (summary.map_or(0, |summary| summary.len()), Reply::Begun(String::new()))
            }
            Request::WaitForReply { workflow, message, .. } => (workflow.len() + message.len(), Reply::Done),
            Request::HttpBody(piece) => (piece.len(), Reply::Done),
            Request::HttpSend(HttpRequest { method, url, headers }) => {
                let headers = headers.iter().map(|(name, value)| name.len() + value.len());
                let head = HttpHead { status: 200, headers: Vec::new() };
                (method.len() + url.len() + headers.sum::<usize>(), Reply::HttpHead(HttpId(1), head))
            }
            Request::HttpRead(_) => (0, Reply::HttpPiece(ByteBuf::new())),
            Request::AddToReply(files, to) => {
                let named = [to.session, to.request].map(|name| name.map_or(0, |name| name.len()));
                let handed = files.iter().map(|file| match &file.source {
                    ReplySource::Path(path) => path.len(),
                    ReplySource::Contents(bytes) => bytes.len(),
                });
                (named.iter().sum::<usize>() + handed.sum::<usize>(), Reply::Added(Vec::new()))
            }
        };
        self.count(bytes);
        Answer { reply: Ok(reply), descriptor: None }
    }

    fn note(&mut self, notification: Notification<'_>) {
        self.count(match notification {
            Notification::Discard(_) | Notification::HttpClose(_) => 0,
            Notification::Report(text) | Notification::Log(text) => text.len(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_checks::corpus;

    #[test]
    fn any_worker_is_survived() {
        assert!(corpus::run("worker_protocol", conversation) > corpus::MUTATIONS);
    }

    /// The corpus reaches what it is meant to reach, also after the protocol has changed.
    #[test]
    fn the_corpus_holds_conversations_that_end_well() {
        let entries = corpus::entries("worker_protocol");
        let ended = |data: &[u8]| {
            let (ours, theirs) =
                socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                    .expect("a pair");
            let (mut socket, mut calls) = (Socket::of_gateway(ours), CountingAuthority::default());
            let clock = CallClock::new(Instant::now() + Duration::from_secs(600), CancellationToken::new());
            let ended = std::thread::scope(|scope| {
                scope.spawn(|| worker(theirs.into(), data));
                let ended = converse(&mut socket, &mut calls, &clock, RESULT_BYTES_MAX, None);
                drop(socket);
                ended
            });
            (calls.asked, matches!(ended, Ok(Ok(_))))
        };
        for (name, asked) in [
            ("save", 3),
            ("replace", 4),
            ("rename", 2),
            ("cancelled", 3),
            ("tells", 3),
            ("reply", 1),
            ("reply_contents", 1),
        ] {
            let (_, entry) = entries.iter().find(|(entry, _)| entry == name).expect("in the corpus");
            assert_eq!(ended(entry), (asked, true), "{name}");
        }
        for name in ["cut", "goes_on", "lying_length", "not_utf8", "over_the_bound", "unknown_ask"] {
            let (_, entry) = entries.iter().find(|(entry, _)| entry == name).expect("in the corpus");
            assert_eq!(ended(entry), (0, false), "{name}");
        }
    }
}

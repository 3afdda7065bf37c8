//! What must hold for any bytes that a worker sends during a call: the conversation ends without a panic, and
//! asks of the gateway no more than whole messages said.
//!
//! Built for tests and, by a fuzz target that includes it, for libFuzzer.

use super::super::clock::Clock;
use super::super::host_calls::{Contents, HostCalls, Planning, ReplyFile, ReplySource, StagedId, Taken};
use super::answer::converse;
use super::socket::Socket;
use crate::attachments::Blob;
use crate::publish::Disposition;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::message::{Address, OutgoingAttachment};
use cofferdam_core::tool::ToolError;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Longest text of a result in the check.
const RESULT_BYTES_MAX: usize = 64 << 10;

/// Holds a conversation with a worker that sends these bytes and ends.
///
/// # Panics
/// Where a claim does not hold.
pub(crate) fn conversation(data: &[u8]) {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .expect("a pair of sockets");
    let mut socket = Socket::new(ours);
    let mut calls = Counting::default();
    // Far away: the end of the bytes ends the conversation, not the clock.
    let clock = Clock::until(Instant::now() + Duration::from_secs(600));
    std::thread::scope(|scope| {
        scope.spawn(|| worker(theirs.into(), data));
        // What comes of it is the pool's business; that something comes is ours.
        let _ = converse(&mut socket, &mut calls, &clock, RESULT_BYTES_MAX);
        drop(socket);
    });
    assert!(calls.asked <= data.len() / 6, "{} requests in {} bytes", calls.asked, data.len());
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
struct Counting {
    asked: usize,
    bytes: usize,
}

impl Counting {
    fn asked(&mut self, bytes: usize) {
        self.asked += 1;
        self.bytes += bytes;
    }

    fn taken(&mut self, bytes: usize) -> Result<Taken, ToolError> {
        self.asked(bytes);
        Ok(Taken { bytes: 0, sha256: String::new() })
    }

    fn planned(&mut self, bytes: usize) -> Result<Planning, ToolError> {
        self.asked(bytes);
        Ok(Planning { kind: cofferdam_core::audit::EntryKind::File, entries: 1, bytes: 0 })
    }
}

impl HostCalls for Counting {
    fn attachments(&mut self) -> Result<Vec<AttachmentInfo>, ToolError> {
        self.asked(0);
        Ok(Vec::new())
    }

    fn attachment(&mut self, _index: u32) -> Result<Blob, ToolError> {
        self.asked(0);
        Ok(Blob::in_memory(b"bytes".to_vec().into(), [0; 32]))
    }

    fn stage(&mut self, path: &str, _disposition: Disposition) -> Result<StagedId, ToolError> {
        self.asked(path.len());
        Ok(StagedId(1))
    }

    fn write(&mut self, _file: StagedId, bytes: &[u8]) -> Result<(), ToolError> {
        self.asked(bytes.len());
        Ok(())
    }

    fn append_attachment(&mut self, _file: StagedId, _index: u32) -> Result<u64, ToolError> {
        self.asked(0);
        Ok(5)
    }

    fn append_file(&mut self, _file: StagedId, path: &str) -> Result<Taken, ToolError> {
        self.taken(path.len())
    }

    fn expect(&mut self, _file: StagedId, sha256: &str) -> Result<(), ToolError> {
        self.asked(sha256.len());
        Ok(())
    }

    fn seal(&mut self, _file: StagedId) -> Result<Taken, ToolError> {
        self.taken(0)
    }

    fn discard(&mut self, _file: StagedId) {
        self.asked(0);
    }

    fn rename(&mut self, from: &str, to: &str, _disposition: Disposition) -> Result<Planning, ToolError> {
        self.planned(from.len() + to.len())
    }

    fn remove(&mut self, path: &str, _contents: Contents) -> Result<Planning, ToolError> {
        self.planned(path.len())
    }

    fn add_to_reply(
        &mut self,
        files: Vec<ReplyFile>,
        to: Address,
    ) -> Result<Vec<OutgoingAttachment>, ToolError> {
        let named = to.session.map_or(0, |name| name.len()) + to.request.map_or(0, |name| name.len());
        let handed = files.iter().map(|file| match &file.source {
            ReplySource::Path(path) => path.len(),
            ReplySource::Contents(bytes) => bytes.len(),
        });
        self.asked(named + handed.sum::<usize>());
        Ok(Vec::new())
    }

    fn report(&mut self, message: &str) {
        self.asked(message.len());
    }

    fn cancelled(&mut self) -> bool {
        self.asked(0);
        false
    }

    fn log(&mut self, line: &str) {
        self.asked(line.len());
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::{Ended, converse};
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
            let (mut socket, mut calls) = (Socket::new(ours), Counting::default());
            let clock = Clock::until(Instant::now() + Duration::from_secs(600));
            let ended = std::thread::scope(|scope| {
                scope.spawn(|| worker(theirs.into(), data));
                let ended = converse(&mut socket, &mut calls, &clock, RESULT_BYTES_MAX);
                drop(socket);
                ended
            });
            (calls.asked, matches!(ended, Ok(Ended::Said(Ok(_)))))
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

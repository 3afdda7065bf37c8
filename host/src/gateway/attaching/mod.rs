//! Files that somebody at this machine adds to the reply of a request, and messages that they send:
//! a socket in the state folder, which is the operator's alone. One asks after the other, each
//! under the limits of replies, in bytes and in time.
//!
//! It is the command `cmd.attachment.add` from outside: the request is found among those that are
//! being answered, and the files are handed over as a call of another request hands them over. A
//! message is handed on, and is waited for beside the next command.

mod asked;

pub use asked::{
    AttachAnswer, AttachFile, AttachRequest, FILES_MAX, HEAD_BYTES_MAX, SAY_PATIENCE_MAX, SAY_TEXT_BYTES_MAX,
    SayRequest,
};

use crate::config::Config;
use asked::read_head;
use cofferdam_agent::open_requests::{CallOrigin, Requests};
use cofferdam_agent::tools::Journal;
use cofferdam_core::audit::{CallFacts, Effect, Intent};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::journal::JournalError;
use cofferdam_core::message::{Address, Delivery};
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::WeakStore;
use cofferdam_warden::attachments::outgoing::{Addition, Outgoing, OutgoingFile};
use cofferdam_warden::audit::AuditLog;
use rustix::fs::{Mode, OFlags};
use serde_json::json;
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// From the first byte to the answer; then the next one is served.
pub const ATTACHING_TIME_MAX: Duration = Duration::from_secs(30);
/// The tool that the audit has.
const COMMAND: &str = "cmd.attachment.add";

/// A message of the operator's.
pub struct OperatorMessage {
    /// What was asked.
    pub say: SayRequest,
    /// Its words.
    pub text: String,
    /// Its files.
    pub files: Vec<OutgoingFile>,
    /// Who sends it.
    pub by: Caller,
}

/// Who takes files, and messages, which it hands to `S`.
pub struct AttachServer<S> {
    /// Those that are being answered.
    pub requests: Arc<Requests>,
    /// Takes the files.
    pub outgoing: Outgoing,
    /// Writes down who has added what.
    pub audit: Arc<AuditLog>,
    /// Keeps what is handed over. Not held open from here: `serve` closes it when it ends.
    pub store: WeakStore,
    /// Where files wait until they are taken.
    pub dir: PathBuf,
    /// Bytes that one command brings.
    pub bytes_max: u64,
    /// Of the runtime.
    pub runtime: Handle,
    /// Has a message sent, and answers once it is out or will not be. Returns at once.
    pub speak: S,
}

/// Where the socket is, however long the path of the state folder: an address has 107 bytes.
fn address(config: &Config) -> io::Result<(rustix::fd::OwnedFd, PathBuf)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::open(&config.state_dir, flags, Mode::empty())?;
    let path = PathBuf::from(format!(
        "/proc/self/fd/{}/{}",
        dir.as_raw_fd(),
        config.store.own_name("attach", "sock")
    ));
    Ok((dir, path))
}

/// Connects to the gateway of a state folder.
///
/// # Errors
/// Where none listens.
pub fn connect(config: &Config) -> io::Result<UnixStream> {
    let (_dir, path) = address(config)?;
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(2 * ATTACHING_TIME_MAX))?;
    stream.set_write_timeout(Some(2 * ATTACHING_TIME_MAX))?;
    Ok(stream)
}

/// Listens for the one `serve`, which holds the lock of the folder: what lies there is left over.
///
/// # Errors
/// What the system says.
pub fn listen(config: &Config) -> io::Result<UnixListener> {
    let (_dir, path) = address(config)?;
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600))?;
    Ok(listener)
}

impl<S> AttachServer<S>
where
    S: Fn(OperatorMessage, Box<dyn FnOnce(AttachAnswer) + Send>) + Send + 'static,
{
    /// Serves anyone who connects, on a thread of its own, until the process ends.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn serve(self, listener: UnixListener) -> io::Result<()> {
        let serve = move || {
            for stream in listener.incoming() {
                if let Err(error) = stream.and_then(|stream| self.serve_one(stream)) {
                    tracing::info!(%error, "files from outside were not added");
                }
            }
        };
        std::thread::Builder::new().name("attach".to_owned()).spawn(serve).map(drop)
    }

    fn serve_one(&self, stream: UnixStream) -> io::Result<()> {
        let until = Instant::now() + ATTACHING_TIME_MAX;
        let sender = rustix::net::sockopt::socket_peercred(&stream)?.uid.as_raw().to_string();
        let by = Caller { channel: "cli".to_owned(), sender };
        let mut reader = BufReader::new(TimedStream { stream: &stream, until });
        let asked = match read_head(&mut reader) {
            Ok(asked) => asked,
            Err(error) => return tell(&stream, time_left(until)?, &AttachAnswer::Refused { error }),
        };
        let answer = match &asked.say {
            None => self.add(&asked, &mut reader, &by),
            Some(say) => match self.message(say, &asked, &mut reader, by) {
                Ok(message) => {
                    drop(reader);
                    let told = move |answer: AttachAnswer| {
                        if let Err(error) = tell(&stream, ATTACHING_TIME_MAX, &answer) {
                            tracing::info!(%error, "who has sent a message is gone");
                        }
                    };
                    (self.speak)(message, Box::new(told));
                    return Ok(());
                }
                Err(error) => Err(error),
            },
        };
        let answer = answer.unwrap_or_else(|error| AttachAnswer::Refused { error });
        tell(&stream, time_left(until)?, &answer)
    }

    /// A message, out of the stream.
    fn message(
        &self,
        say: &SayRequest,
        asked: &AttachRequest,
        reader: &mut impl Read,
        by: Caller,
    ) -> Result<OperatorMessage, ToolError> {
        let unread = |why: String| {
            ToolError::new(ErrorCode::InvalidArguments, format!("the words of the message: {why}"))
        };
        let text = io::read_to_string(reader.by_ref().take(say.text_bytes));
        let text = text.map_err(|error| unread(error.to_string()))?;
        if text.len() as u64 != say.text_bytes {
            return Err(unread("they end too early".to_owned()));
        }
        let files = self.sources(asked, reader)?;
        Ok(OperatorMessage { say: say.clone(), text, files, by })
    }

    fn add(
        &self,
        asked: &AttachRequest,
        reader: &mut impl Read,
        by: &Caller,
    ) -> Result<AttachAnswer, ToolError> {
        let to = Address { session: asked.session.clone(), request: asked.request.clone() };
        let origin = self.requests.find(&to)?;
        let store = self.store.upgrade().ok_or_else(|| {
            ToolError::new(ErrorCode::ToolUnavailable, "the gateway is ending; add them after its next start")
        })?;
        let request = origin.request.clone();
        let sources = self.sources(asked, reader)?;
        let mut addition = self.outgoing.addition(&request);
        let attachments = addition.take(sources, &|| Ok(()))?;
        let call = TurnId::new(format!("attach-{}", crate::unique())).call(0);
        let intent = intent(asked, &origin, (&addition, by), call.clone());
        let delivery = Delivery { request: request.clone(), attachments };
        let journal: &dyn Journal = &store;
        self.audit.change_audited(intent, || {
            let deliver = || journal.deliver(call.as_str(), &delivery);
            let handed = self.requests.run_while_open(&request, deliver);
            end_addition(addition, handed.ok_or_else(|| Requests::not_open_error(&to))?)?;
            let settled = self.runtime.block_on(store.settle());
            settled.map_err(|error| ToolError::new(ErrorCode::DurabilityUnknown, error.to_string()))
        })?;
        let added = delivery
            .attachments
            .into_iter()
            .map(|file| json!({ "filename": file.name, "mimeType": file.mime_type, "bytes": file.bytes }));
        Ok(AttachAnswer::Added { attachments: added.collect() })
    }

    /// The files, out of the stream and into files without names.
    fn sources(&self, asked: &AttachRequest, reader: &mut impl Read) -> Result<Vec<OutgoingFile>, ToolError> {
        let bytes = asked.files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
        if bytes > self.bytes_max {
            let said =
                format!("the files have {bytes} bytes, and one command adds at most {}", self.bytes_max);
            return Err(ToolError::new(ErrorCode::QuotaExceeded, said));
        }
        asked.files.iter().map(|said| self.source(said, reader)).collect()
    }

    fn source(&self, said: &AttachFile, reader: &mut impl Read) -> Result<OutgoingFile, ToolError> {
        let failed = |error: io::Error| {
            ToolError::new(ErrorCode::WriteFailed, format!("{:?} is not taken: {error}", said.name))
        };
        let mut file = tempfile::tempfile_in(&self.dir).map_err(failed)?;
        let copied = io::copy(&mut reader.take(said.bytes), &mut file).map_err(failed)?;
        if copied != said.bytes {
            return Err(failed(io::ErrorKind::UnexpectedEof.into()));
        }
        file.rewind().map_err(failed)?;
        Ok(said.clone().with_contents(file))
    }
}

/// Ends an addition by what the store has said of it. What is kept, or may be, has its bytes.
fn end_addition(addition: Addition, handed: Result<(), JournalError>) -> Result<(), ToolError> {
    let ended = match handed {
        Ok(()) => Ok(()),
        Err(JournalError::Unknown(why)) => {
            let said = format!("the gateway cannot tell whether the files are kept: {why}");
            Err(ToolError::new(ErrorCode::DurabilityUnknown, said))
        }
        Err(error) => {
            return Err(ToolError::new(ErrorCode::WriteFailed, format!("the files are not kept: {error}")));
        }
    };
    addition.keep();
    ended
}

/// What the audit has of it: the operator's own command.
fn intent(
    asked: &AttachRequest,
    origin: &CallOrigin,
    (addition, by): (&Addition, &Caller),
    call: cofferdam_core::id::CallId,
) -> Intent {
    let names: Vec<&str> = asked.files.iter().map(|file| file.name.as_str()).collect();
    let arguments = json!({ "session": asked.session, "request": asked.request, "files": names });
    let facts = CallFacts::new(call, origin.request.clone(), by.clone(), COMMAND, arguments);
    let facts = CallFacts { session: origin.session.clone(), ..facts };
    Intent { facts, files: addition.effects().into_iter().map(Effect::without_path).collect() }
}

/// Answers, unless the other side takes nothing.
fn tell(mut stream: &UnixStream, patience: Duration, answer: &AttachAnswer) -> io::Result<()> {
    stream.set_write_timeout(Some(patience))?;
    writeln!(stream, "{}", serde_json::to_string(answer)?)
}

/// A stream that is read until a time.
struct TimedStream<'a> {
    stream: &'a UnixStream,
    until: Instant,
}

impl Read for TimedStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(time_left(self.until)?))?;
        let mut stream = self.stream;
        stream.read(buffer)
    }
}

/// The time that is left.
fn time_left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;

    #[test]
    fn who_says_nothing_is_waited_for_no_longer_than_the_time() {
        let (silent, stream) = UnixStream::pair().expect("a pair");
        let mut timed = TimedStream { stream: &stream, until: Instant::now() + Duration::from_millis(50) };
        let error = timed.read(&mut [0]).expect_err("nothing came");
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
        timed.until = Instant::now();
        assert_eq!(timed.read(&mut [0]).expect_err("over").kind(), io::ErrorKind::TimedOut);
        drop(silent);
    }

    #[test]
    fn files_that_the_store_may_keep_have_their_bytes_until_the_request_ends() {
        let dir = tempfile::tempdir().expect("a folder");
        let outgoing = Outgoing::open(&dir.path().join("outgoing"), Default::default()).expect("it opens");
        let check = |handed: Result<(), JournalError>, code: Option<ErrorCode>, is_held: bool| {
            let turn = TurnId::new("t".to_owned());
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(b"x").expect("room");
            file.rewind().expect("a file");
            let file = AttachFile { name: "a.txt".to_owned(), bytes: 1 }.with_contents(file);
            let mut addition = outgoing.addition(&turn);
            addition.take(vec![file], &|| Ok(())).expect("taken");
            let ended = end_addition(addition, handed);
            assert_eq!(ended.err().map(|error| error.code), code);
            assert_eq!(outgoing.release(&turn), is_held, "{code:?}");
        };
        check(Ok(()), None, true);
        check(Err(JournalError::Unknown("lost".to_owned())), Some(ErrorCode::DurabilityUnknown), true);
        check(Err(JournalError::Failed("away".to_owned())), Some(ErrorCode::WriteFailed), false);
    }

    #[test]
    fn the_length_of_the_folders_path_does_not_matter() {
        let dir = tempfile::tempdir().expect("a folder");
        let deep = dir.path().join("x".repeat(120)).join("y".repeat(120));
        std::fs::create_dir_all(&deep).expect("writable");
        let file = dir.path().join("c.toml");
        std::fs::write(&file, format!("[workspace]\nroot = \"w\"\n[state]\ndir = {deep:?}\n"))
            .expect("writable");
        let config =
            Config::load(Some(&file), &Flags::default(), &std::collections::BTreeMap::new()).expect("valid");
        assert!(connect(&config).is_err(), "nobody listens");
        let first = listen(&config).expect("it listens");
        assert!(connect(&config).is_ok());
        drop(first);
        assert!(connect(&config).is_err(), "what is left over is nobody's");
        let _second = listen(&config).expect("it takes the place of what is left over");
        assert!(connect(&config).is_ok());
        let mode = std::fs::metadata(deep.join("attach.sock")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

//! Standard input and output of one client, read and written by the thread that answers it: to wake
//! another one takes longer than to answer. That thread never waits for the client: what the client
//! does not take is left to a thread that does.

use cofferdam_core::lock::lock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, IoSlice, IoSliceMut, ReadWriteFlags, preadv2, pwritev2, read};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::{OwnedPermit, Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::task::coop::consume_budget;

/// Messages that wait to be written.
const MESSAGES_AHEAD: usize = 16;
/// Taken from the input at once.
const PIECE_BYTES: usize = 64 << 10;
/// Where a stream is, for calls that ask for an offset.
const HERE: u64 = u64::MAX;

/// The client's messages.
pub(crate) struct Input {
    source: BufReader<Source>,
    /// Says when something comes. None for what is always ready: a file, `/dev/null`.
    ready: Option<AsyncFd<OwnedFd>>,
}

/// Gives what is there, and `WouldBlock` where nothing is, or where its turn is over.
pub(crate) struct Source {
    fd: OwnedFd,
    always_ready: bool,
    /// It has been read from in this turn. Once is enough: the client may never stop.
    has_read: bool,
}

impl Input {
    /// Within a runtime with I/O.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        let ready = watch(fd.try_clone()?)?;
        let source = Source { fd, always_ready: ready.is_none(), has_read: false };
        Ok(Self { source: BufReader::with_capacity(PIECE_BYTES, source), ready })
    }

    /// What `take` finds in the stream, which it is given again each time more has come. Nothing is
    /// lost where this is dropped.
    ///
    /// # Errors
    /// Those of `take` but `WouldBlock`, and what the system says.
    pub(crate) async fn take<T>(
        &mut self,
        mut take: impl FnMut(&mut BufReader<Source>) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            // Others have their turn too, a signal say.
            consume_budget().await;
            self.source.get_mut().has_read = false;
            let taken = take(&mut self.source);
            if !matches!(&taken, Err(error) if error.kind() == ErrorKind::WouldBlock) {
                return taken;
            }
            if self.source.get_ref().has_read {
                continue;
            }
            let Some(ready) = &self.ready else { return taken };
            let mut more = ready.readable().await?;
            // Between the look and this wait something may have come: then there is no wait.
            if !is_readable(&self.source.get_ref().fd)? {
                more.clear_ready();
            }
        }
    }

    /// Returns when the client has closed its end, also where what it said before is not read yet;
    /// never for what is always ready.
    pub(crate) async fn wait_closed(&self) {
        let Some(ready) = &self.ready else { return std::future::pending().await };
        // What fails here is told where it is read, and what is cleared here is looked for there.
        while let Ok(mut more) = ready.readable().await {
            if more.ready().is_read_closed() {
                return;
            }
            more.clear_ready();
        }
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_read {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = self.read_now(buffer)?;
        self.has_read = true;
        Ok(count)
    }
}

impl Source {
    fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.always_ready {
            return Ok(read(&self.fd, buffer)?);
        }
        match preadv2(&self.fd, &mut [IoSliceMut::new(buffer)], HERE, ReadWriteFlags::NOWAIT) {
            // A terminal, which must be asked.
            Err(Errno::OPNOTSUPP | Errno::SPIPE | Errno::NOSYS) => match is_readable(&self.fd)? {
                true => Ok(read(&self.fd, buffer)?),
                false => Err(ErrorKind::WouldBlock.into()),
            },
            taken => Ok(taken?),
        }
    }
}

/// Has the system tell when something comes; none for what is always ready.
#[allow(unsafe_code, reason = "only a type's owner knows that it keeps its descriptor; see SAFETY")]
fn watch(fd: OwnedFd) -> io::Result<Option<AsyncFd<OwnedFd>>> {
    // SAFETY: an `OwnedFd` is open, and the same, until it is dropped; it is given away here.
    match unsafe { AsyncFd::register(fd) }.map_err(io::Error::from) {
        Ok(watched) => Ok(Some(watched)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether there is something to read, or the end.
fn is_readable(fd: &OwnedFd) -> io::Result<bool> {
    let mut asked = [PollFd::new(fd, PollFlags::IN)];
    Ok(poll(&mut asked, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0)
}

/// Where messages are written, whole and in order. A clone is the same.
#[derive(Clone)]
pub(crate) struct Output {
    shared: Arc<Stream>,
    left: Sender<Vec<u8>>,
}

struct Stream {
    fd: OwnedFd,
    /// Messages that the thread has not written.
    waiting: AtomicUsize,
    /// Held while a message is written here or left to the thread.
    order: Mutex<()>,
}

/// Room for one message.
pub(crate) struct MessageRoom {
    shared: Arc<Stream>,
    left: OwnedPermit<Vec<u8>>,
}

impl Output {
    /// The output, and what is told when all of it is written and every clone is gone.
    ///
    /// # Errors
    /// What the system says; a thread that does not start.
    pub(crate) fn new(fd: OwnedFd) -> io::Result<(Self, oneshot::Receiver<()>)> {
        let file = File::from(fd.try_clone()?);
        let shared = Arc::new(Stream { fd, waiting: AtomicUsize::new(0), order: Mutex::default() });
        let (left, going) = channel(MESSAGES_AHEAD);
        let (written, all_written) = oneshot::channel();
        let stream = shared.clone();
        std::thread::Builder::new().name("stdout".into()).spawn(move || {
            write_left(file, going, &stream.waiting);
            let _ = written.send(());
        })?;
        Ok((Self { shared, left }, all_written))
    }

    /// Writes a message, once there is room.
    ///
    /// # Errors
    /// `BrokenPipe` when nobody reads any more.
    pub(crate) async fn put(self, message: Vec<u8>) -> io::Result<()> {
        self.reserve().await?.put(message);
        Ok(())
    }

    /// Room for a message, where there is some now.
    pub(crate) fn room_now(&self) -> Option<MessageRoom> {
        let left = self.left.clone().try_reserve_owned().ok()?;
        Some(MessageRoom { shared: self.shared.clone(), left })
    }

    /// Room for a message.
    ///
    /// # Errors
    /// `BrokenPipe` when nobody reads any more.
    pub(crate) async fn reserve(&self) -> io::Result<MessageRoom> {
        let left = self.left.clone().reserve_owned().await.map_err(|_| ErrorKind::BrokenPipe)?;
        Ok(MessageRoom { shared: self.shared.clone(), left })
    }
}

impl MessageRoom {
    /// Writes what the client takes at once, and leaves the rest to the thread.
    pub(crate) fn put(self, mut message: Vec<u8>) {
        let _order = lock(&self.shared.order);
        if self.shared.waiting.load(Ordering::Acquire) == 0 {
            // What fails here the thread meets as well, and tells.
            let now = pwritev2(&self.shared.fd, &[IoSlice::new(&message)], HERE, ReadWriteFlags::NOWAIT);
            message.drain(..now.unwrap_or(0));
        }
        if !message.is_empty() {
            self.shared.waiting.fetch_add(1, Ordering::AcqRel);
            self.left.send(message);
        }
    }
}

fn write_left(output: File, mut going: Receiver<Vec<u8>>, waiting: &AtomicUsize) {
    while let Some(message) = going.blocking_recv() {
        if let Err(error) = write_patiently(&output, &message) {
            tracing::debug!(%error, "nobody reads standard output any more");
            return;
        }
        waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Writes all of it. The stream may have been made one that does not wait by itself.
fn write_patiently(mut output: &File, mut message: &[u8]) -> io::Result<()> {
    while !message.is_empty() {
        match output.write(message) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => message = &message[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let mut asked = [PollFd::new(output, PollFlags::OUT)];
                match poll(&mut asked, None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::{InputLine, LineReader};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    const SOON: Duration = Duration::from_secs(20);

    fn pipe() -> (OwnedFd, OwnedFd) {
        rustix::pipe::pipe().expect("a pipe")
    }

    fn sockets() -> (OwnedFd, OwnedFd) {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        (ours.into(), theirs.into())
    }

    /// The same ends, of which the one that is written to does not wait by itself.
    fn hasty((read_end, write_end): (OwnedFd, OwnedFd)) -> (OwnedFd, OwnedFd) {
        rustix::io::ioctl_fionbio(&write_end, true).expect("ours");
        (read_end, write_end)
    }

    #[tokio::test]
    async fn messages_come_out_whole_and_in_order_however_slowly_they_are_read() {
        for (read_end, write_end) in [pipe(), sockets(), hasty(pipe()), hasty(sockets())] {
            let (output, all_written) = Output::new(write_end).expect("made");
            // Some fit into a pipe at once, some do not.
            let sizes = [10_usize, 300_000, 1, 70_000, 5, 65_536, 0, 9];
            let message = |n: usize| [vec![b'a' + n as u8; sizes[n]], vec![b'\n']].concat();
            let expected: Vec<u8> = (0..sizes.len()).flat_map(message).collect();
            let bytes = expected.len();
            let reader = std::thread::spawn(move || {
                let (mut input, mut read, mut piece) = (File::from(read_end), Vec::new(), [0; 1000]);
                while read.len() < bytes {
                    let n = input.read(&mut piece).expect("ours");
                    read.extend_from_slice(&piece[..n]);
                }
                read
            });
            for n in 0..sizes.len() {
                output.clone().put(message(n)).await.expect("it is read");
            }
            drop(output);
            tokio::time::timeout(SOON, all_written).await.expect("soon").expect("the thread tells");
            assert!(reader.join().expect("no panic") == expected);
        }
    }

    #[tokio::test]
    async fn who_reads_nothing_has_so_many_messages_kept_and_holds_up_nobody() {
        let (_nobody_reads, write_end) = pipe();
        let (output, _) = Output::new(write_end).expect("made");
        let put = async {
            for _ in 0..MESSAGES_AHEAD + 2 {
                output.clone().put(vec![b'x'; 100_000]).await.expect("kept");
            }
        };
        // The thread holds one, so many wait, and the next has no room.
        assert!(tokio::time::timeout(Duration::from_secs(2), put).await.is_err());
        assert_eq!(output.shared.waiting.load(Ordering::Acquire), MESSAGES_AHEAD + 1);
    }

    #[tokio::test]
    async fn nobody_who_reads_is_told() {
        let (read_end, write_end) = pipe();
        drop(read_end);
        let (output, all_written) = Output::new(write_end).expect("made");
        output.clone().put(b"x\n".to_vec()).await.expect("there is room");
        tokio::time::timeout(SOON, all_written).await.expect("soon").expect("the thread tells");
        assert_eq!(output.put(b"x\n".to_vec()).await.expect_err("gone").kind(), ErrorKind::BrokenPipe);
    }

    async fn next(input: &mut Input, lines: &mut LineReader) -> Option<String> {
        let taken = tokio::time::timeout(SOON, input.take(|source| lines.next(source))).await;
        taken.expect("soon").expect("it can be read").map(|line| match line {
            InputLine::Whole(line) => String::from_utf8(line).expect("text"),
            InputLine::TooLong => unreachable!("short lines"),
        })
    }

    #[tokio::test]
    async fn lines_are_read_as_they_come_and_a_wait_that_is_dropped_loses_nothing() {
        for (read_end, write_end) in [pipe(), sockets()] {
            let (mut input, mut lines) = (Input::new(read_end).expect("made"), LineReader::new(1000));
            let mut client = File::from(write_end);
            client.write_all(b"one\ntw").expect("room");
            assert_eq!(next(&mut input, &mut lines).await.as_deref(), Some("one"));
            for _ in 0..3 {
                let waits = input.take(|source| lines.next(source));
                assert!(tokio::time::timeout(Duration::from_millis(20), waits).await.is_err());
            }
            client.write_all(b"o\nthree\n").expect("room");
            assert_eq!(next(&mut input, &mut lines).await.as_deref(), Some("two"));
            assert_eq!(next(&mut input, &mut lines).await.as_deref(), Some("three"));
            drop(client);
            assert_eq!(next(&mut input, &mut lines).await, None);
        }
    }

    #[tokio::test]
    async fn a_client_that_closes_its_end_is_noticed_before_its_last_words_are_read() {
        for (read_end, write_end) in [pipe(), sockets()] {
            let (mut input, mut lines) = (Input::new(read_end).expect("made"), LineReader::new(1000));
            let mut client = File::from(write_end);
            for words in ["one\n", "two\n"] {
                client.write_all(words.as_bytes()).expect("room");
                assert!(tokio::time::timeout(Duration::from_millis(20), input.wait_closed()).await.is_err());
            }
            assert_eq!(next(&mut input, &mut lines).await.as_deref(), Some("one"));
            client.write_all(b"three\n").expect("room");
            drop(client);
            tokio::time::timeout(SOON, input.wait_closed()).await.expect("soon");
            assert_eq!(next(&mut input, &mut lines).await.as_deref(), Some("two"));
            assert_eq!(next(&mut input, &mut lines).await.as_deref(), Some("three"));
            assert_eq!(next(&mut input, &mut lines).await, None);
        }
    }

    /// Neither its one line ends, nor its lines.
    #[tokio::test]
    async fn a_client_that_never_stops_leaves_others_their_turn() {
        const PIECES: usize = 200;
        for words in ["x", "\n"] {
            let (read_end, write_end) = pipe();
            let (mut input, mut lines) = (Input::new(read_end).expect("made"), LineReader::new(1000));
            let client = std::thread::spawn(move || {
                let (mut client, piece) = (File::from(write_end), words.repeat(1 << 20));
                (0..PIECES).take_while(|_| client.write_all(piece.as_bytes()).is_ok()).count()
            });
            let reading = async { while let Ok(Some(_)) = input.take(|source| lines.next(source)).await {} };
            assert!(tokio::time::timeout(Duration::from_millis(20), reading).await.is_err());
            drop(input);
            assert!(client.join().expect("no panic") < PIECES, "all was read before");
        }
    }

    #[tokio::test]
    async fn files_and_terminals_are_read_too() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"one\ntwo\n").expect("room");
        std::io::Seek::rewind(&mut file).expect("a file");
        let (mut input, mut lines) = (Input::new(file.into()).expect("made"), LineReader::new(1000));
        assert_eq!(next(&mut input, &mut lines).await.as_deref(), Some("one"));
        assert_eq!(next(&mut input, &mut lines).await.as_deref(), Some("two"));
        assert_eq!(next(&mut input, &mut lines).await, None);

        let nothing = File::open("/dev/null").expect("there");
        assert_eq!(next(&mut Input::new(nothing.into()).expect("made"), &mut lines).await, None);

        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keyboard).and_then(|()| unlockpt(&keyboard)).expect("ours");
        let name = ptsname(&keyboard, Vec::new()).expect("it has a name");
        let screen =
            File::options().read(true).write(true).open(name.to_str().expect("text")).expect("there");
        let mut input = Input::new(screen.into()).expect("made");
        let waits = input.take(|source| lines.next(source));
        assert!(tokio::time::timeout(Duration::from_millis(20), waits).await.is_err());
        File::from(keyboard.try_clone().expect("ours")).write_all(b"typed\n").expect("room");
        assert_eq!(next(&mut input, &mut lines).await.as_deref(), Some("typed"));
    }
}

//! `cofferdam chat` held open: many calls in one process, and what that process has taken
//! meanwhile.

use super::SOON;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use support::home::Home;

/// A running `chat`; killed when dropped.
pub(crate) struct Chat {
    child: Child,
    answers: Receiver<String>,
    /// What it says beside its answers.
    log: Receiver<String>,
}

impl Chat {
    pub(crate) fn start(home: &Home) -> Self {
        Self::spawn(home.command(&["chat"]))
    }

    /// Starts this command, which is to be `chat`.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let answers = lines(child.stdout.take().expect("piped"));
        let log = lines(child.stderr.take().expect("piped"));
        Self { child, answers, log }
    }

    /// The same with a log of these parts of the program, for [`Chat::logs`].
    pub(crate) fn logging(home: &Home, filter: &str) -> Self {
        let mut command = home.command(&["chat"]);
        command.env("COFFERDAM_LOG", filter);
        Self::spawn(command)
    }

    /// Waits for the next line of the log that says this.
    pub(crate) fn logs(&self, words: &str) {
        let next = || self.log.recv_timeout(SOON).unwrap_or_else(|_| panic!("{words:?} is not logged"));
        while !next().contains(words) {}
    }

    /// Says a line; returns the line that answers it.
    pub(crate) fn say(&mut self, line: &str) -> String {
        self.begin(line);
        self.answer()
    }

    /// Says a line and does not wait.
    pub(crate) fn begin(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("piped");
        writeln!(stdin, "{line}").expect("chat reads");
    }

    /// The answer to the line that was said first of those that have none.
    pub(crate) fn answer(&self) -> String {
        let told = |error| {
            let said: Vec<_> = self.log.try_iter().collect();
            panic!("no answer: {error}; beside that it said {said:#?}")
        };
        self.answers.recv_timeout(SOON).unwrap_or_else(told)
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// A line of `/proc/PID/status` in KiB: `VmHWM` is the most memory it ever held, `VmRSS` what
    /// it holds.
    pub(crate) fn kib(&self, name: &str) -> u64 {
        support::workers::number(self.child.id(), name).expect(name)
    }

    /// Ends it as a person does, and waits.
    pub(crate) fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("ours to wait for").success());
    }
}

/// The lines of a stream as they come.
fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, lines) = channel();
    let read =
        move || BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| tell.send(line));
    std::thread::spawn(read);
    lines
}

impl Drop for Chat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

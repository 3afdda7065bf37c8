//! The program at a terminal: util-linux's `script` is the terminal, the test types and reads the
//! screen.

use crate::home::Home;
use crate::program;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Longer than anything takes that is not stuck, in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(100);

/// A terminal with one program; both are gone when dropped.
pub struct Terminal {
    child: Child,
    keys: ChildStdin,
    shown: Receiver<Vec<u8>>,
    screen: String,
    /// The beginning of a character whose end is still to come.
    cut: Vec<u8>,
    /// How much of the screen earlier waits have seen.
    seen: usize,
}

impl Terminal {
    /// Starts the program in a folder of this home, with nothing of the test's environment but
    /// PATH. Its end is the terminal's end.
    pub fn start(home: &Home, dir: &Path, words: &[&str], environment: &[(&str, &str)]) -> Self {
        let program = program::cofferdam();
        let program = program.to_str().expect("a build's path is text");
        let words: Vec<_> = [&[program], words].concat().iter().map(|word| format!("'{word}'")).collect();
        // In the shell's place: a shell that waits would be ended by the Ctrl-C that is for the
        // program.
        Self::run(home, dir, &format!("exec {}", words.join(" ")), environment)
    }

    /// The same for a shell's command.
    pub fn run(home: &Home, dir: &Path, command: &str, environment: &[(&str, &str)]) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // A test that nohup has started would start programs that ignore the end of their terminal.
        let mut script = Command::new("env");
        script.args(["--default-signal=HUP", "script", "-qec", command, "/dev/null"]);
        script.current_dir(dir).env_clear();
        script.env("PATH", path).env("HOME", home.dir()).env("SHELL", "/bin/sh").env("TERM", "dumb");
        script.envs(environment.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().expect("util-linux's script is there");
        let (keys, mut output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (show, shown) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if show.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keys, shown, screen: String::new(), cut: Vec::new(), seen: 0 }
    }

    /// Puts what came on the screen.
    fn show(&mut self, bytes: &[u8]) {
        self.cut.extend(bytes);
        let whole = match std::str::from_utf8(&self.cut) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.cut.len(),
        };
        let bytes: Vec<u8> = self.cut.drain(..whole).collect();
        self.screen.push_str(&String::from_utf8_lossy(&bytes));
    }

    /// Waits until these words are on the screen, after those that were waited for before.
    pub fn until(&mut self, words: &str) {
        loop {
            if let Some(at) = self.screen[self.seen..].find(words) {
                self.seen += at + words.len();
                return;
            }
            match self.shown.recv_timeout(PATIENCE) {
                Ok(bytes) => self.show(&bytes),
                Err(RecvTimeoutError::Timeout) => panic!("{words:?} never came: {:?}", self.screen),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended without {words:?}: {:?}", self.screen)
                }
            }
        }
    }

    /// The same; what is on the screen between those and these.
    pub fn before(&mut self, words: &str) -> String {
        let from = self.seen;
        self.until(words);
        self.screen[from..self.seen - words.len()].to_owned()
    }

    /// Types; `\n` is Enter.
    pub fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).expect("the terminal is there");
    }

    /// Waits for a question, and answers it.
    pub fn answers(&mut self, question: &str, answer: &str) {
        self.until(question);
        self.types(&format!("{answer}\n"));
    }

    /// Waits for the program's end: its exit code, and everything that was on the screen.
    pub fn ended(mut self) -> (Option<i32>, String) {
        loop {
            match self.shown.recv_timeout(PATIENCE) {
                Ok(bytes) => self.show(&bytes),
                Err(RecvTimeoutError::Timeout) => panic!("it does not end: {:?}", self.screen),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = self.child.wait().expect("ours");
        (status.code(), self.screen.replace("\r\n", "\n"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A gateway under attack: one program for many cases, with canaries around it.

use super::case::{Arguments, Way};
use super::expand::expand;
use super::things::{Thing, World, world};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use support::home::Home;

/// What no answer, log or audit may ever have: it lies in `/vault`, beside the workspace and in the
/// program's environment.
const CANARY: &str = "CANARY-5d1f0c7e";

/// Far longer than any call here takes, on a busy machine too: what takes longer hangs.
const SOON: Duration = Duration::from_secs(60);

/// A running `chat` and its folder.
pub(super) struct Gateway {
    home: Home,
    child: Child,
    answers: Receiver<String>,
    /// How much of log and audit was searched for secrets.
    searched: [u64; 2],
}

/// What a call came to.
#[derive(Debug)]
pub(super) struct Said {
    /// `ok`, the code of an error, or `usage`.
    pub(super) code: String,
    /// All of it.
    pub(super) text: String,
    /// The result of a call that succeeded.
    pub(super) json: Option<Value>,
}

/// What there is outside the mounts, and in them.
pub(super) struct Look {
    pub(super) outside: World,
    pub(super) inside: World,
}

impl Gateway {
    pub(super) fn start(home: Home) -> Self {
        for mount in ["/shared", "/tmp", "/vault"] {
            fs::create_dir_all(home.host(mount)).expect("writable");
        }
        let outside = home.dir().join("outside");
        fs::create_dir_all(outside.join("folder")).expect("writable");
        fs::write(outside.join("secret"), CANARY).expect("writable");
        fs::write(outside.join("folder/secret"), CANARY).expect("writable");
        // Lies in the workspace under another name where a case links it there.
        fs::write(outside.join("linked"), "old").expect("writable");
        fs::write(home.host("/vault/secret"), CANARY).expect("writable");
        home.file("sent", b"sent");
        let mut command = home.command(&["chat"]);
        let log = fs::File::create(home.dir().join("log")).expect("writable");
        command.env("SECRET", CANARY).env("COFFERDAM_LOG", "cofferdam=debug");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(log));
        let mut child = command.spawn().expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (tell, answers) = channel();
        std::thread::spawn(move || {
            // What goes out with an answer is shown below it.
            let lines =
                stdout.lines().map_while(Result::ok).filter(|line| !line.starts_with("[attachment] "));
            lines.into_iter().try_for_each(|line| tell.send(line))
        });
        Self { home, child, answers, searched: [0; 2] }
    }

    /// The table's text with what it stands for.
    pub(super) fn expand(&self, text: &str) -> String {
        let outside = || self.home.dir().join("outside").to_str().expect("text").to_owned();
        expand(text, &|name| (name == "outside").then(outside))
    }

    pub(super) fn expand_json(&self, value: &Value) -> Value {
        serde_json::from_str(&self.expand(&value.to_string())).expect("still JSON")
    }

    fn host(&self, path: &str) -> PathBuf {
        if path.starts_with(self.home.dir().to_str().expect("text")) {
            path.into()
        } else {
            self.home.host(path)
        }
    }

    /// What a file holds, or `-`.
    pub(super) fn content(&self, path: &str) -> String {
        let bytes = fs::read(self.host(&self.expand(path)));
        bytes.map_or_else(|_| "-".to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Empties the mounts and puts these things there.
    pub(super) fn prepare(&self, things: &[Thing]) -> Look {
        for mount in ["/shared", "/tmp"] {
            for entry in fs::read_dir(self.home.host(mount)).expect("there") {
                let path = entry.expect("readable").path();
                let is_folder = fs::symlink_metadata(&path).expect("there").is_dir();
                let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.expect("ours");
            }
        }
        fs::write(self.home.host("/tmp/source"), "source").expect("writable");
        for thing in things {
            thing.make(&|text| self.expand(text), &|path| self.host(path));
        }
        self.look()
    }

    /// What there is.
    pub(super) fn look(&self) -> Look {
        let dir = self.home.dir();
        let mut outside = vec![dir.join("outside"), self.home.host("/vault"), self.home.config_file()];
        outside.extend(self.home.policies_dir().exists().then(|| self.home.policies_dir()));
        Look { outside: world(&outside), inside: world(&[self.home.host("/shared"), self.home.host("/tmp")]) }
    }

    /// Makes the call.
    pub(super) fn ask(&mut self, way: &Way) -> Said {
        match &way.arguments {
            Arguments::Line(text) => {
                if way.tool == "attachment_save" {
                    self.say(&format!("/attach {}", self.home.dir().join("sent").display()));
                }
                let text = ascii(&self.expand(text));
                self.say(&format!("/{} {text}", way.tool));
                of_line(self.answer(way))
            }
            Arguments::File(text, bytes) => {
                let file = self.home.file("arguments", &[self.expand(text).as_bytes(), bytes].concat());
                let ran = self.home.call(&[&way.tool, "--args", &format!("@{file}")]);
                match ran.code {
                    Some(2) => Said { code: "usage".into(), text: ran.stderr, json: None },
                    Some(0) => Said { code: "ok".into(), json: Some(ran.json()), text: ran.stdout },
                    Some(1) => Said { code: ran.error(), text: ran.stdout, json: None },
                    _ => panic!("{}: it did not end by itself: {ran:?}", way.tool),
                }
            }
        }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().expect("piped"), "{line}")
            .expect("the gateway is alive and reads");
    }

    fn answer(&self, way: &Way) -> String {
        self.answers.recv_timeout(SOON).unwrap_or_else(|_| panic!("no answer to {way:?}"))
    }

    /// No secret is in the answer, the log or the audit.
    pub(super) fn keeps_secrets(&mut self, said: &Said) -> Result<(), String> {
        if said.text.contains(CANARY) {
            return Err(format!("A SECRET IS TOLD: {said:?}"));
        }
        let files = [self.home.dir().join("log"), self.home.state().join("audit.jsonl")];
        for (file, searched) in files.iter().zip(&mut self.searched) {
            let bytes = fs::read(file).unwrap_or_default();
            let new = &bytes[usize::try_from(*searched).expect("a file's length").min(bytes.len())..];
            if String::from_utf8_lossy(new).contains(CANARY) {
                return Err(format!("A SECRET IS IN {}: {said:?}", file.display()));
            }
            *searched = bytes.len() as u64;
        }
        Ok(())
    }

    /// Nothing is left behind, the audit is sound, and the next ordinary call works.
    pub(super) fn still_sound(&mut self) -> Result<(), String> {
        let left = self.home.leftovers();
        if !left.is_empty() {
            return Err(format!("left behind: {left:?}"));
        }
        // The case may have filled the workspace.
        self.prepare(&[]);
        self.say(r#"/file_write {"path":"/tmp/next","content":"next","overwrite":true}"#);
        let answer = self.answers.recv_timeout(SOON).map_err(|_| "no answer to the next call".to_owned())?;
        if !answer.starts_with(r#"{"written":true"#) || self.content("/tmp/next") != "next" {
            return Err(format!("the next call fails: {answer}"));
        }
        let ran = self.home.run(&["audit", "verify", "--json"]);
        let report: Value = serde_json::from_str(&ran.stdout).map_err(|e| format!("{e}: {ran:?}"))?;
        if ran.code != Some(0) || report["ok"] != true || report["intents_open"] != 0 {
            return Err(format!("the audit: {ran:?}"));
        }
        Ok(())
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line of the terminal: a result, or `CODE: message`.
fn of_line(text: String) -> Said {
    match serde_json::from_str::<Value>(&text) {
        Ok(json) if json.is_object() => Said { code: "ok".into(), json: Some(json), text },
        _ => Said { code: text.split(':').next().unwrap_or_default().to_owned(), json: None, text },
    }
}

/// JSON text that is one line of ASCII: what is neither is escaped.
fn ascii(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() && !c.is_control() {
            line.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                line.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    line
}

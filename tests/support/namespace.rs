//! A namespace of a test's own, of mounts or of a network: what is made there exists nowhere else
//! and ends with the test.

use crate::needs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A namespace, held by a process that waits.
pub struct Namespace {
    /// What `unshare` and `nsenter` call its kind.
    kind: &'static str,
    dir: PathBuf,
    holder: Child,
}

/// Whether namespaces can be had: root may make them, unless a container forbids it.
pub fn available(test: &str) -> bool {
    let tried = || Command::new("unshare").args(["-m", "nsenter", "-V"]).stdout(Stdio::null()).status();
    let there = needs::root() && tried().is_ok_and(|status| status.success());
    needs::available(test, "root, unshare and nsenter", there)
}

impl Namespace {
    /// A new one of mounts, with `script` run in it, in this folder.
    ///
    /// # Panics
    /// When the script fails.
    pub fn new(dir: &Path, script: &str) -> Self {
        Self::of("-m", dir, script)
    }

    /// A new one of a network, with `script` run in it: it has a loopback, which is down, and no
    /// more.
    ///
    /// # Panics
    /// When the script fails.
    pub fn network(script: &str) -> Self {
        Self::of("-n", Path::new("/"), script)
    }

    fn of(kind: &'static str, dir: &Path, script: &str) -> Self {
        // It holds the namespace until its stdin closes.
        let script = format!("set -e\n{script}\necho ready; cat");
        let mut command = Command::new("unshare");
        command.args([kind, "sh", "-c", &script]).current_dir(dir);
        let mut holder =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("unshare starts");
        let mut line = String::new();
        let mut out = BufReader::new(holder.stdout.take().expect("piped"));
        out.read_line(&mut line).expect("text");
        assert_eq!(line, "ready\n", "the script failed: {script}");
        Self { kind, dir: dir.to_owned(), holder }
    }

    /// The process that holds it.
    pub fn pid(&self) -> u32 {
        self.holder.id()
    }

    /// Runs a script in the folder, as it is there.
    ///
    /// # Panics
    /// When it fails.
    pub fn sh(&self, script: &str) {
        let mut command = Command::new("nsenter");
        let script = format!("set -e\ncd {}\n{script}", self.dir.display());
        let pid = self.holder.id().to_string();
        let output = command.args(["-t", &pid, self.kind, "sh", "-c", &script]).output();
        let output = output.expect("nsenter starts");
        assert!(output.status.success(), "{script}: {output:?}");
    }

    /// The words before a program that make it run there.
    pub fn wrapper(&self) -> [String; 5] {
        ["nsenter", "-t", &self.holder.id().to_string(), self.kind, "--"].map(str::to_owned)
    }

    /// Where the test finds what is at this absolute path there.
    ///
    /// # Panics
    /// When it is not absolute.
    pub fn seen(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        root.join(path.strip_prefix("/").expect("an absolute path"))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

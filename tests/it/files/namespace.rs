//! A mount namespace of a test's own: what is mounted there exists nowhere else and ends with the test.

use super::check::{Gateway, with_folders};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use support::home::Home;
use support::needs;

/// A gateway whose program runs among other mounts.
pub(super) struct Namespace {
    home: Home,
    holder: Child,
}

/// Whether namespaces can be had: root may make them, unless a container forbids it.
pub(super) fn available(test: &str) -> bool {
    let tried = || Command::new("unshare").args(["-m", "nsenter", "-V"]).stdout(Stdio::null()).status();
    let there = needs::root() && tried().is_ok_and(|status| status.success());
    needs::available(test, "root, unshare and nsenter", there)
}

impl Namespace {
    /// A new gateway, and `script` run in a new namespace, in its folder, where the workspace is
    /// `workspace` and the state `state`.
    pub(super) fn new(script: &str) -> Self {
        Self::around(with_folders(Home::new()), script)
    }

    /// The same for a gateway that was configured first.
    pub(super) fn around(home: Home, script: &str) -> Self {
        // It holds the namespace until its stdin closes.
        let script = format!("set -e\n{script}\necho ready; cat");
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script]).current_dir(home.dir());
        let mut holder =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("unshare starts");
        let mut line = String::new();
        let mut out = BufReader::new(holder.stdout.take().expect("piped"));
        out.read_line(&mut line).expect("text");
        assert_eq!(line, "ready\n", "the script failed: {script}");
        Self { home, holder }
    }

    /// Runs a script in the gateway's folder.
    pub(super) fn sh(&self, script: &str) {
        let mut command = Command::new("nsenter");
        let script = format!("set -e\ncd {}\n{script}", self.home.dir().display());
        let pid = self.holder.id().to_string();
        let output = command.args(["-t", &pid, "-m", "sh", "-c", &script]).output().expect("nsenter starts");
        assert!(output.status.success(), "{script}: {output:?}");
    }
}

impl Gateway for Namespace {
    fn home(&self) -> &Home {
        &self.home
    }

    fn command(&self, wrapper: &[&str], arguments: &[&str]) -> Command {
        let pid = self.holder.id().to_string();
        let mut all = vec!["nsenter", "-t", &pid, "-m", "--"];
        all.extend(wrapper);
        self.home.command_under(&all, arguments)
    }

    fn seen(&self, path: PathBuf) -> PathBuf {
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

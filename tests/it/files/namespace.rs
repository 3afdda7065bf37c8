//! A gateway whose program runs among mounts that exist nowhere else.

use super::check::{Gateway, with_folders};
use std::path::PathBuf;
use std::process::Command;
use support::home::Home;
pub(super) use support::namespace::available;

/// A gateway whose program runs among other mounts.
pub(super) struct Namespace {
    home: Home,
    mounts: support::namespace::Namespace,
}

impl Namespace {
    /// A new gateway, and `script` run in a new namespace, in its folder, where the workspace is
    /// `workspace` and the state `state`.
    pub(super) fn new(script: &str) -> Self {
        Self::around(with_folders(Home::new()), script)
    }

    /// The same for a gateway that was configured first.
    pub(super) fn around(home: Home, script: &str) -> Self {
        let mounts = support::namespace::Namespace::new(home.dir(), script);
        Self { home, mounts }
    }

    /// Runs a script in the gateway's folder.
    pub(super) fn sh(&self, script: &str) {
        self.mounts.sh(script);
    }
}

impl Gateway for Namespace {
    fn home(&self) -> &Home {
        &self.home
    }

    fn command(&self, wrapper: &[&str], arguments: &[&str]) -> Command {
        let enter = self.mounts.wrapper();
        let all: Vec<&str> = enter.iter().map(String::as_str).chain(wrapper.iter().copied()).collect();
        self.home.command_under(&all, arguments)
    }

    fn seen(&self, path: PathBuf) -> PathBuf {
        self.mounts.seen(&path)
    }
}

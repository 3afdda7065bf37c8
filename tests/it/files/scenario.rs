//! The ways in which a saved file gets to its place, for tests that stop it at every step.

use super::check::{bytes, home, works};
use super::paused::Call;
use super::tracer::{self, Seen, Traced};
use serde_json::json;
use std::fs;
use support::home::Home;

/// One way in which a file gets to its place.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    /// What lies at the path before.
    old: Option<&'static [u8]>,
    /// What is saved.
    new: usize,
    /// System calls that the filesystem lacks, each with its error.
    lacks: &'static [(&'static str, &'static str, &'static str)],
}

/// The scenario of a name. Small files come from memory, large ones from a spool file; new ones are
/// linked, others renamed; and filesystems without unnamed files take other ways.
pub(super) fn scenario(name: &str) -> Scenario {
    const NO_TMPFILE: (&str, &str, &str) = ("openat", "O_TMPFILE", "error=EOPNOTSUPP");
    let (small, large) = (1000, 300 << 10);
    let old = Some(&b"the old content"[..]);
    let all = [
        Scenario { name: "a_new_file", path: "/shared/n1/n2/file", old: None, new: small, lacks: &[] },
        Scenario { name: "a_replaced_file", path: "/shared/file", old, new: large, lacks: &[] },
        Scenario {
            name: "a_new_file_staged_under_a_name",
            path: "/shared/file",
            old: None,
            new: large,
            lacks: &[NO_TMPFILE],
        },
        Scenario {
            name: "a_replaced_file_staged_under_a_name",
            path: "/shared/file",
            old,
            new: small,
            lacks: &[NO_TMPFILE],
        },
    ];
    all.into_iter().find(|one| one.name == name).expect("a scenario has this name")
}

impl Scenario {
    /// A gateway in the state before the call.
    pub(super) fn home(&self) -> Home {
        let home = home();
        if let Some(old) = self.old {
            fs::write(home.host(self.path), old).expect("writable");
        }
        home
    }

    /// The call.
    pub(super) fn call(&self, home: &Home) -> Call {
        let arguments = json!({ "index": 0, "path": self.path, "overwrite": self.old.is_some() });
        Call { tool: "attachment_save", arguments, attached: vec![home.file("sent", &bytes(self.new))] }
    }

    /// What the filesystem lacks, found in a run without faults.
    pub(super) fn base(&self) -> Vec<String> {
        if self.lacks.is_empty() {
            return Vec::new();
        }
        let home = self.home();
        let seen = tracer::run(&home, &self.call(&home), &[]).seen;
        self.lacks.iter().map(|(name, part, error)| tracer::one(&seen, name, part).meets(error)).collect()
    }

    /// Whether calls of this name are used up: strace knows one thing to meet for each name.
    pub(super) fn lacks(&self, name: &str) -> bool {
        self.lacks.iter().any(|(lacking, ..)| *lacking == name)
    }

    /// The system calls of a run that meets only `base`, and succeeds.
    pub(super) fn seen(&self, base: &[String]) -> Vec<Seen> {
        let home = self.home();
        let Traced { ran, seen, .. } = tracer::run(&home, &self.call(&home), base);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(self.is_new(&home));
        works(&home);
        seen
    }

    /// Whether the file is the new one; if not, it is the old one, and never anything else.
    pub(super) fn is_new(&self, home: &Home) -> bool {
        let found = fs::read(home.host(self.path)).ok();
        if found.as_deref() == self.old {
            return false;
        }
        assert!(found.is_some_and(|found| found == bytes(self.new)), "a torn file at {}", self.path);
        true
    }
}

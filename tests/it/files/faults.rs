//! The system refuses one call of a save: each failure has its code, changes nothing, leaves
//! nothing.

use super::check::{is_refusal, tree, works};
use super::scenario::{Scenario, scenario};
use super::tracer::{self, Seen, Traced};
use support::home::Home;

/// A scenario and its system calls when all is well.
struct Faults {
    scenario: Scenario,
    base: Vec<String>,
    seen: Vec<Seen>,
}

impl Faults {
    fn of(name: &str) -> Self {
        let scenario = scenario(name);
        let base = scenario.base();
        let seen = scenario.seen(&base);
        Self { scenario, base, seen }
    }

    /// What the one call of this name whose text has `part` meets.
    fn at(&self, name: &str, part: &str, what: &str) -> String {
        tracer::one(&self.seen, name, part).meets(what)
    }

    fn run(&self, met: &[String]) -> (Home, Traced) {
        let home = self.scenario.home();
        let all: Vec<_> = self.base.iter().chain(met).cloned().collect();
        let traced = tracer::run(&home, &self.scenario.call(&home), &all);
        (home, traced)
    }

    /// The save fails with `code` and changes nothing; the system calls in which it did.
    fn fails(&self, met: &[String], code: &str) -> Vec<Seen> {
        let (home, Traced { ran, seen, .. }) = self.run(met);
        let fresh = self.scenario.home();
        assert!(!self.scenario.is_new(&home), "{met:?}: {ran:?}");
        assert_eq!((ran.error().as_str(), ran.code), (code, Some(1)), "{met:?}: {ran:?}");
        assert_eq!(names(&home), names(&fresh), "{met:?}");
        if code != "internal" {
            is_refusal(&home, &ran, code);
        }
        works(&home);
        assert!(!self.scenario.is_new(&home), "{met:?}: the next start published it");
        seen
    }

    /// The save succeeds another way.
    fn succeeds(&self, met: &[String]) {
        let (home, Traced { ran, .. }) = self.run(met);
        assert_eq!(ran.code, Some(0), "{met:?}: {ran:?}");
        assert!(self.scenario.is_new(&home), "{met:?}");
        works(&home);
    }

    /// The file is there, and the answer says that the disk did not confirm it.
    fn is_unconfirmed(&self, met: &[String]) {
        let (home, Traced { ran, .. }) = self.run(met);
        is_refusal(&home, &ran, "durability_unknown");
        assert!(ran.message().contains(&format!("{} is saved, but", self.scenario.path)), "{ran:?}");
        assert!(self.scenario.is_new(&home), "{met:?}");
        let outcome = home.audit().pop().expect("audited");
        assert_eq!(outcome["files"][0]["path"], self.scenario.path, "{outcome}");
        works(&home);
        assert!(self.scenario.is_new(&home), "{met:?}");
    }
}

fn names(home: &Home) -> Vec<String> {
    let relative =
        |path: &std::path::Path| path.strip_prefix(home.workspace()).expect("below").display().to_string();
    tree(&home.workspace()).keys().map(|path| relative(path)).collect()
}

#[test]
fn of_a_new_file() {
    if !tracer::available("files::faults::of_a_new_file") {
        return;
    }
    let faults = Faults::of("a_new_file");
    let fails = |name: &str, part: &str, errno: &str, code: &str| {
        faults.fails(&[faults.at(name, part, &format!("error={errno}"))], code);
    };
    fails("openat", "O_TMPFILE", "ENOSPC", "no_space");
    fails("openat", "O_TMPFILE", "EMFILE", "write_failed");
    fails("pwrite64", "", "EIO", "write_failed");
    fails("pwrite64", "", "ENOSPC", "no_space");
    fails("pwrite64", "", "EDQUOT", "no_space");
    fails("fchmod", "", "EPERM", "write_failed");
    fails("fsync", "(deleted)", "EIO", "write_failed");
    fails("fsync", "(deleted)", "ENOSPC", "no_space");
    // Without an intent on disk nothing is published.
    fails("openat", "publishing.lock", "EMFILE", "internal");
    // The log is locked for itself alone.
    fails("flock", "LOCK_SH", "ENOLCK", "internal");
    fails("write", "intent", "EIO", "internal");
    fails("write", "intent", "ENOSPC", "no_space");
    fails("fdatasync", "audit.jsonl", "EIO", "internal");
    fails("mkdirat", "\"n1\"", "EIO", "write_failed");
    fails("mkdirat", "\"n1\"", "ENOSPC", "no_space");
    fails("mkdirat", "\"n2\"", "EACCES", "write_failed");
    fails("mkdirat", "\"n2\"", "ENOSPC", "no_space");
    fails("fsync", "/shared>", "EIO", "write_failed");
    fails("fsync", "/n1>", "EIO", "write_failed");
    fails("linkat", "", "EIO", "write_failed");
    fails("linkat", "", "ENOSPC", "no_space");
    fails("linkat", "", "EDQUOT", "no_space");
    fails("linkat", "", "EXDEV", "path_denied");
}

#[test]
fn of_a_replaced_file() {
    if !tracer::available("files::faults::of_a_replaced_file") {
        return;
    }
    let faults = Faults::of("a_replaced_file");
    let fails = |name: &str, part: &str, errno: &str, code: &str| {
        faults.fails(&[faults.at(name, part, &format!("error={errno}"))], code);
    };
    fails("copy_file_range", "", "EIO", "write_failed");
    fails("copy_file_range", "", "ENOSPC", "no_space");
    fails("fallocate", "", "ENOSPC", "no_space");
    fails("fallocate", "", "EDQUOT", "no_space");
    fails("linkat", ".cofferdam-tmp-", "EIO", "write_failed");
    fails("linkat", ".cofferdam-tmp-", "ENOSPC", "no_space");
    fails("renameat", ".cofferdam-tmp-", "EIO", "write_failed");
    fails("renameat", ".cofferdam-tmp-", "ENOSPC", "no_space");
    fails("renameat", ".cofferdam-tmp-", "EXDEV", "path_denied");
    // The copy goes through memory where the kernel does not do it, and fails there.
    let by_hand = faults.at("copy_file_range", "", "error=EXDEV");
    faults.fails(&[by_hand.clone(), "inject=pwrite64:error=ENOSPC:when=1".into()], "no_space");
    faults.fails(&[by_hand, "inject=pwrite64:error=EIO:when=1".into()], "write_failed");
}

#[test]
fn that_can_be_got_around() {
    if !tracer::available("files::faults::that_can_be_got_around") {
        return;
    }
    let new = Faults::of("a_new_file");
    new.succeeds(&[new.at("openat", "O_TMPFILE", "error=EOPNOTSUPP")]);
    // Somebody was faster and is gone again.
    new.succeeds(&[new.at("linkat", "", "error=EEXIST")]);
    new.succeeds(&[new.at("linkat", "", "error=ENOENT")]);
    let replaced = Faults::of("a_replaced_file");
    for errno in
        ["error=EXDEV", "error=ENOSYS", "error=EOPNOTSUPP", "error=EINVAL", "error=EINTR", "retval=0"]
    {
        replaced.succeeds(&[replaced.at("copy_file_range", "", errno)]);
    }
    replaced.succeeds(&[replaced.at("fallocate", "", "error=EOPNOTSUPP")]);
    // A clone of something else than what was looked at: the source changed in between.
    replaced.succeeds(&[replaced.at("ioctl", "CLONE", "retval=0")]);
    replaced.succeeds(&[replaced.at("linkat", ".cofferdam-tmp-", "error=EEXIST")]);
    let named = Faults::of("a_new_file_staged_under_a_name");
    for errno in ["error=EINVAL", "error=ENOSYS", "error=EEXIST"] {
        named.succeeds(&[named.at("renameat2", ".cofferdam-tmp-", errno)]);
    }
    named.fails(&[named.at("renameat2", ".cofferdam-tmp-", "error=EIO")], "write_failed");
}

#[test]
fn that_do_not_end_are_given_up() {
    if !tracer::available("files::faults::that_do_not_end_are_given_up") {
        return;
    }
    let new = Faults::of("a_new_file");
    let ever = |name: &str, errno: &str| format!("{}+", new.at(name, "", &format!("error={errno}")));
    new.fails(&[ever("linkat", "EEXIST")], "write_failed");
    let first = new.seen.iter().find(|seen| seen.name == "openat2").expect("a lookup");
    new.fails(&[format!("{}+", first.meets("error=EAGAIN"))], "write_failed");
    // No temporary name is free.
    let replaced = Faults::of("a_replaced_file");
    let taken = format!("{}+", replaced.at("linkat", ".cofferdam-tmp-", "error=EEXIST"));
    let seen = replaced.fails(&[taken], "write_failed");
    assert_eq!(seen.iter().filter(|seen| seen.text.contains(".cofferdam-tmp-")).count(), 16);
}

#[test]
fn after_publishing_are_told_as_such() {
    if !tracer::available("files::faults::after_publishing_are_told_as_such") {
        return;
    }
    let new = Faults::of("a_new_file");
    new.is_unconfirmed(&[new.at("fsync", "/n2>", "error=EIO")]);
    // The file is there and on disk; only the audit's outcome is not, and the next start adds it.
    new.succeeds(&[new.at("write", "outcome", "error=EIO")]);
    let replaced = Faults::of("a_replaced_file");
    replaced.is_unconfirmed(&[replaced.at("fsync", "/shared>", "error=EIO")]);
    replaced.is_unconfirmed(&[replaced.at("fsync", "/shared>", "error=ENOSPC")]);
}

//! The `SystemCallFilter=` of a unit, put into force without a systemd: its sets are spelled out by
//! `systemd-analyze`, and the numbers of the calls are the C library's.

use crate::{kernel, needs};
use anyhow::{Context, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

/// The system calls that a unit leaves to its service.
pub struct SystemCalls(BTreeSet<String>);

impl SystemCalls {
    /// Those of this unit; none where what spells them out is missing.
    ///
    /// # Errors
    /// When the unit has no such line, or one that forbids instead of allowing, or a set that
    /// systemd does not know.
    pub fn of(unit: &str, test: &str) -> anyhow::Result<Option<Self>> {
        let there = needs::program("systemd-analyze") && needs::program("cc");
        if !needs::available(test, "systemd-analyze and a C compiler, cc", there) {
            return Ok(None);
        }
        ensure!(unit.contains("SystemCallErrorNumber=EPERM\n"), "another answer than EPERM: {unit}");
        let line = unit.lines().find_map(|line| line.strip_prefix("SystemCallFilter="));
        let mut wanted: Vec<String> = line.context(unit.to_owned())?.split(' ').map(str::to_owned).collect();
        let mut names = BTreeSet::new();
        while let Some(word) = wanted.pop() {
            ensure!(!word.is_empty() && !word.starts_with('~'), "{word:?} allows nothing");
            if word.starts_with('@') {
                wanted.extend(set(&word)?);
            } else {
                names.insert(word);
            }
        }
        Ok(Some(Self(names)))
    }

    /// The same but for one.
    ///
    /// # Panics
    /// When it is not among them.
    #[must_use]
    pub fn but(&self, name: &str) -> Self {
        let mut names = self.0.clone();
        assert!(names.remove(name), "{name} is not allowed anyway");
        Self(names)
    }

    /// Does something that may make these calls alone, and so may whatever it starts; any other
    /// answers EPERM.
    ///
    /// # Errors
    /// When the C library does not tell the numbers.
    ///
    /// # Panics
    /// When this kernel has no filters.
    pub fn only<T: Send>(&self, act: impl FnOnce() -> T + Send) -> anyhow::Result<T> {
        let numbers = numbers()?;
        // Some are other machines' alone; systemd leaves those out as well.
        let calls: Vec<libc::c_long> = self.0.iter().filter_map(|name| numbers.get(name).copied()).collect();
        Ok(kernel::with_only(&calls, act))
    }
}

/// What a set of systemd's names: calls, and further sets.
fn set(name: &str) -> anyhow::Result<Vec<String>> {
    let ran = Command::new("systemd-analyze").args(["--no-pager", "syscall-filter", name]).output()?;
    ensure!(ran.status.success(), "{name}: {ran:?}");
    let text = String::from_utf8(ran.stdout)?;
    let lines = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

/// The numbers of all calls on this machine.
fn numbers() -> anyhow::Result<BTreeMap<String, libc::c_long>> {
    let mut compiler = Command::new("cc");
    compiler.args(["-E", "-dM", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = compiler.spawn()?;
    running.stdin.take().context("piped")?.write_all(b"#include <sys/syscall.h>\n")?;
    let text = String::from_utf8(running.wait_with_output()?.stdout)?;
    let number = |line: &str| {
        let (name, number) = line.strip_prefix("#define __NR_")?.split_once(' ')?;
        Some((name.to_owned(), number.parse().ok()?))
    };
    let numbers: BTreeMap<_, _> = text.lines().filter_map(number).collect();
    ensure!(
        numbers.get("openat2") == Some(&libc::SYS_openat2),
        "cc does not tell the numbers of system calls"
    );
    Ok(numbers)
}

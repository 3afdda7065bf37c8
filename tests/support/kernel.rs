//! A kernel that lacks something: a program run under a filter that answers system calls as if they were not
//! there.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use std::io;
use std::process::{Child, Command};

/// The system calls of Landlock.
pub const LANDLOCK: &[libc::c_long] =
    &[libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self];
/// The system call that installs filters.
pub const SECCOMP: &[libc::c_long] = &[libc::SYS_seccomp];

/// Starts a program for which these system calls do not exist.
///
/// # Panics
/// When this kernel has no filters, so that nothing could be taken away.
pub fn spawn_without(calls: &[libc::c_long], command: &mut Command) -> io::Result<Child> {
    let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    let absent = SeccompAction::Errno(libc::ENOSYS as u32);
    let machine = std::env::consts::ARCH.try_into().expect("a machine that we build for");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, absent, machine).expect("sound");
    let program: BpfProgram = filter.try_into().expect("short");
    // A filter holds for one thread and what it starts, and this thread ends.
    std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            apply_filter(&program).expect("this kernel has filters");
            command.spawn()
        });
        started.join().expect("does not panic")
    })
}

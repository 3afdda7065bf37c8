//! A kernel that lacks something: a program run under a filter that answers system calls as if they were not
//! there, or as if they had been done; or so deep in Landlock's layers that it can add no more than one of its own.

use landlock::{AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use std::io;
use std::process::{Child, Command};

/// The system calls of Landlock.
pub const LANDLOCK: &[libc::c_long] =
    &[libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self];
/// The system call that installs filters.
pub const SECCOMP: &[libc::c_long] = &[libc::SYS_seccomp];

/// The system call that drops capabilities.
pub const CAPABILITIES: &[libc::c_long] = &[libc::SYS_capset];

/// Starts a program for which these system calls do not exist.
///
/// # Panics
/// When this kernel has no filters, so that nothing could be taken away.
pub fn spawn_without(calls: &[libc::c_long], command: &mut Command) -> io::Result<Child> {
    spawn_answering(calls, libc::ENOSYS, command)
}

/// Starts a program for which these system calls succeed and do nothing.
///
/// # Panics
/// When this kernel has no filters, so that nothing could be taken away.
pub fn spawn_pretending(calls: &[libc::c_long], command: &mut Command) -> io::Result<Child> {
    spawn_answering(calls, 0, command)
}

/// Starts a program for which these system calls end with this error number, or well.
fn spawn_answering(calls: &[libc::c_long], errno: libc::c_int, command: &mut Command) -> io::Result<Child> {
    let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    let answer = SeccompAction::Errno(errno as u32);
    let machine = std::env::consts::ARCH.try_into().expect("a machine that we build for");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, machine).expect("sound");
    let program: BpfProgram = filter.try_into().expect("short");
    spawn_after(command, || apply_filter(&program).expect("this kernel has filters"))
}

/// The layers of Landlock that one process can be under, by the kernel's own limit.
pub const LANDLOCK_LAYERS_MAX: usize = 16;

/// Starts a program under so many layers of Landlock, none of which forbids anything.
///
/// # Panics
/// When this kernel has no Landlock.
pub fn spawn_below(layers: usize, command: &mut Command) -> io::Result<Child> {
    let all = AccessFs::Execute;
    let layer = || {
        let rules = Ruleset::default().handle_access(all)?.create()?;
        rules.add_rule(PathBeneath::new(PathFd::new("/").expect("a root"), all))?.restrict_self()
    };
    spawn_after(command, || {
        for _ in 0..layers {
            layer().expect("this kernel has Landlock");
        }
    })
}

/// Starts a program from a thread that has taken something from itself: that holds for one thread and what it
/// starts, and this thread ends.
fn spawn_after(command: &mut Command, take: impl FnOnce() + Send) -> io::Result<Child> {
    std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            take();
            command.spawn()
        });
        started.join().expect("does not panic")
    })
}

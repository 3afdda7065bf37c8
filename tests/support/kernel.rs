//! A kernel that lacks something: a program run under a filter that answers system calls as if they
//! were not there, or as if they had been done, or that permits few, or refuses files without a
//! name; or so deep in Landlock's layers that it can add no more than one of its own. And one that
//! refuses a thread some use of all files and folders.

pub use landlock::AccessFs;

use landlock::{CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
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

/// Starts a program for which no filesystem has files without a name (`O_TMPFILE`).
///
/// # Panics
/// When this kernel has no filters, so that nothing could be taken away.
pub fn spawn_without_unnamed_files(command: &mut Command) -> io::Result<Child> {
    let unnamed = libc::O_TMPFILE as u64;
    let with_flags_at = |argument| {
        let flags = SeccompCmpOp::MaskedEq(unnamed);
        let flags = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, flags, unnamed).expect("sound");
        vec![SeccompRule::new(vec![flags]).expect("sound")]
    };
    let refused = SeccompAction::Errno(libc::EOPNOTSUPP as u32);
    let machine = std::env::consts::ARCH.try_into().expect("a machine that we build for");
    let rules = [
        (libc::SYS_openat, with_flags_at(2)),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, with_flags_at(1)),
    ]
    .into();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, machine).expect("sound");
    let program: BpfProgram = filter.try_into().expect("short");
    spawn_after(command, || apply_filter(&program).expect("this kernel has filters"))
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
    let program = filter(calls, SeccompAction::Errno(errno as u32), SeccompAction::Allow);
    spawn_after(command, || apply_filter(&program).expect("this kernel has filters"))
}

/// Does something for which no system calls but these are permitted, nor for what it starts.
///
/// # Panics
/// When this kernel has no filters, so that nothing could be taken away.
pub fn with_only<T: Send>(calls: &[libc::c_long], act: impl FnOnce() -> T + Send) -> T {
    let program = filter(calls, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32));
    after(|| apply_filter(&program).expect("this kernel has filters"), act)
}

/// A filter that treats these calls in one way, and all others in another.
fn filter(calls: &[libc::c_long], these: SeccompAction, others: SeccompAction) -> BpfProgram {
    let rules = calls.iter().map(|call| (*call, Vec::new())).collect();
    let machine = std::env::consts::ARCH.try_into().expect("a machine that we build for");
    SeccompFilter::new(rules, others, these, machine).expect("sound").try_into().expect("short")
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

/// Does something that is refused this access to any file or folder, also as root.
///
/// # Panics
/// When this kernel has no Landlock.
pub fn with_refused<T: Send>(access: AccessFs, act: impl FnOnce() -> T + Send) -> T {
    let refuse = || {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules.handle_access(access)?.create()?.restrict_self()
    };
    let take = || {
        refuse().expect("this kernel has Landlock");
    };
    after(take, act)
}

fn spawn_after(command: &mut Command, take: impl FnOnce() + Send) -> io::Result<Child> {
    after(take, || command.spawn())
}

/// Does something on a thread that has taken something from itself: that holds for one thread and
/// what it starts, and this thread ends.
fn after<T: Send>(take: impl FnOnce() + Send, act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let done = scope.spawn(|| {
            take();
            act()
        });
        done.join().expect("does not panic")
    })
}

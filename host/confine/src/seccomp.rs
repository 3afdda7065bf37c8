//! seccomp: which system calls a process makes. A worker has a list of those it needs, the gateway
//! a list of those it never makes.
//!
//! A worker that strays is killed: it is compromised or broken, and the gateway starts another.
//! What libraries merely try fails softly instead. Paths and open flags are Landlock's business.

use super::{ConfineError, WorkerKind};
use seccompiler::{
    Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// `open_tree_attr`, of Linux 6.15; the library has no name for it on our machines.
pub(super) const SYS_OPEN_TREE_ATTR: libc::c_long = 467;

/// Calls that a worker makes with any arguments.
const WORKER: &[libc::c_long] = &[
    // Its socket, its mounts, machine code. Not `sendmsg`: it hands out no descriptor and no
    // datagram.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_ppoll,
    // Memory.
    libc::SYS_munmap,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_brk,
    libc::SYS_membarrier,
    // Threads, signals of its own, the clock.
    libc::SYS_futex,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_uname,
    libc::SYS_sysinfo,
];

/// Older names of the same calls; musl still makes them.
#[cfg(target_arch = "x86_64")]
const WORKER_OF_THIS_MACHINE: &[libc::c_long] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_readlink,
    libc::SYS_poll,
    libc::SYS_epoll_wait,
    libc::SYS_pipe,
    libc::SYS_time,
    libc::SYS_dup2,
];
#[cfg(not(target_arch = "x86_64"))]
const WORKER_OF_THIS_MACHINE: &[libc::c_long] = &[];

/// Calls that a gateway never makes.
const GATEWAY_NEVER: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_personality,
    libc::SYS_mknodat,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
];

/// Calls of this machine alone.
#[cfg(target_arch = "x86_64")]
const GATEWAY_NEVER_ON_THIS_MACHINE: &[libc::c_long] = &[
    libc::SYS_mknod,
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
    libc::SYS_uselib,
];
#[cfg(not(target_arch = "x86_64"))]
const GATEWAY_NEVER_ON_THIS_MACHINE: &[libc::c_long] = &[];

/// `PAGEMAP_SCAN`: which pages of a guest's memory are dirty.
const PAGEMAP_SCAN: u64 = 0xC060_6610;
/// `fcntl` commands that stay within the process: none that locks, leases or sends signals.
const FCNTL: &[u64] = &[
    libc::F_DUPFD as u64,
    libc::F_GETFD as u64,
    libc::F_SETFD as u64,
    libc::F_GETFL as u64,
    libc::F_SETFL as u64,
    libc::F_DUPFD_CLOEXEC as u64,
    libc::F_ADD_SEALS as u64,
    libc::F_GET_SEALS as u64,
];
/// Flags of `clone` that make a namespace. Those of time are for `clone3` and `unshare` alone.
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;
/// Flags of `clone` that make a process or a namespace instead of a thread.
const NOT_A_THREAD: u64 = NAMESPACES | (libc::CLONE_VFORK | libc::CLONE_PTRACE | libc::CLONE_PIDFD) as u64;

/// Leaves a worker its list. One that compiles may start threads, one that runs guests has the one
/// it has. False where the kernel has no filters.
pub(super) fn worker(kind: WorkerKind) -> Result<bool, ConfineError> {
    // glibc then falls back to clone, whose flags can be seen; and wasmtime copies where it would
    // share memory files, which no limit of memory counts.
    let absent = [libc::SYS_clone3, libc::SYS_memfd_create];
    refuse(all_numbers(&absent), libc::ENOSYS)?;
    let mut tried = refused_rules()?;
    if kind == WorkerKind::Call {
        tried.insert(libc::SYS_clone, Vec::new());
    }
    refuse(tried, libc::EPERM)?;
    // Last: it does not let another filter be installed.
    let mut rules = allowed_rules()?;
    for call in [absent[0], absent[1], libc::SYS_ioctl, libc::SYS_fcntl, libc::SYS_prctl] {
        rules.insert(call, Vec::new());
    }
    install(rules, SeccompAction::KillProcess, SeccompAction::Allow)
}

/// Takes from the gateway what it never does. False where the kernel has no filters.
pub(super) fn gateway() -> Result<bool, ConfineError> {
    // Programs and threads are started by clone, as in a worker: its flags can be seen.
    refuse(all_numbers(&[libc::SYS_clone3]), libc::ENOSYS)?;
    let never = [GATEWAY_NEVER, GATEWAY_NEVER_ON_THIS_MACHINE].concat();
    let mut rules = all_numbers(&never);
    let namespaces = namespace_rules()?;
    rules.extend(all_numbers(&[libc::SYS_clone]).into_keys().map(|call| (call, namespaces.clone())));
    refuse(rules, libc::EPERM)
}

/// A `clone` that has any of these flags: a rule is met when all its conditions are, so that each
/// flag has one of its own.
fn namespace_rules() -> Result<Vec<SeccompRule>, ConfineError> {
    let flags = (0..u64::BITS).map(|bit| 1_u64 << bit).filter(|flag| NAMESPACES & *flag != 0);
    flags.map(|flag| rule(vec![masked_condition(0, flag, flag)?])).collect()
}

/// What a worker may do, beside what [`refused_rules`] refuses softly.
fn allowed_rules() -> Result<Rules, ConfineError> {
    let mut rules: Rules =
        WORKER.iter().chain(WORKER_OF_THIS_MACHINE).map(|call| (*call, Vec::new())).collect();
    let own_pid = rustix::process::getpid().as_raw_nonzero().get() as u64;
    // No page is writable and executable at once.
    let both = (libc::PROT_WRITE | libc::PROT_EXEC) as u64;
    let either = [0, libc::PROT_WRITE as u64, libc::PROT_EXEC as u64];
    let protected = |bits: &u64| rule(vec![masked_condition(2, both, *bits)?]);
    rules.insert(libc::SYS_mprotect, either.iter().map(protected).collect::<Result<_, _>>()?);
    // Private mappings alone, which its limit of memory counts.
    let private = |bits: &u64| {
        rule(vec![
            masked_condition(2, both, *bits)?,
            masked_condition(3, libc::MAP_TYPE as u64, libc::MAP_PRIVATE as u64)?,
        ])
    };
    rules.insert(libc::SYS_mmap, either.iter().map(private).collect::<Result<_, _>>()?);
    let thread = libc::CLONE_THREAD as u64;
    rules.insert(libc::SYS_clone, vec![rule(vec![masked_condition(0, thread | NOT_A_THREAD, thread)?])?]);
    // Signals to itself (`abort`), sockets without an address and their timeouts and buffers,
    // limits that are only read, pairs of its own.
    rules.insert(libc::SYS_tgkill, vec![rule(vec![equal(0, own_pid)?])?]);
    // musl's `abort` names a thread alone; the first one has the process's id.
    rules.insert(libc::SYS_tkill, vec![rule(vec![equal(0, own_pid)?])?]);
    rules.insert(libc::SYS_sendto, vec![rule(vec![null(4)?])?]);
    let options = [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO, libc::SO_RCVBUF, libc::SO_SNDBUF];
    let option = |name: &libc::c_int| rule(vec![equal(1, libc::SOL_SOCKET as u64)?, equal(2, *name as u64)?]);
    rules.insert(libc::SYS_setsockopt, options.iter().map(option).collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_prlimit64, vec![rule(vec![equal(0, 0)?, null(2)?])?]);
    // Streams alone, which have one peer: a datagram names its receiver itself. Flags apart.
    let kind = !(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u32;
    let stream = masked_condition(1, kind.into(), libc::SOCK_STREAM as u64)?;
    rules.insert(libc::SYS_socketpair, vec![rule(vec![equal(0, libc::AF_UNIX as u64)?, stream])?]);
    Ok(rules)
}

/// What libraries try and live without: other commands of `ioctl`, `fcntl` and `prctl`.
fn refused_rules() -> Result<Rules, ConfineError> {
    let none_of = |argument: u8, commands: &[u64]| -> Result<Vec<SeccompRule>, ConfineError> {
        let conditions = commands.iter().map(|command| condition(argument, SeccompCmpOp::Ne, *command));
        Ok(vec![rule(conditions.collect::<Result<_, _>>()?)?])
    };
    // C libraries disagree about the type of these.
    let ioctl = [PAGEMAP_SCAN, u64::from(libc::FIONBIO as u32), u64::from(libc::FIOCLEX as u32)];
    let prctl =
        [libc::PR_SET_NAME, libc::PR_GET_NAME, libc::PR_SET_NO_NEW_PRIVS].map(|command| command as u64);
    Ok(Rules::from([
        (libc::SYS_ioctl, none_of(1, &ioctl)?),
        (libc::SYS_fcntl, none_of(1, FCNTL)?),
        (libc::SYS_prctl, none_of(0, &prctl)?),
    ]))
}

/// The calls under every number that they have: x86-64 kernels may answer to a second set, which a
/// list of what is forbidden must name too.
fn all_numbers(calls: &[libc::c_long]) -> Rules {
    const X32: i64 = 0x4000_0000;
    let second = |call: &libc::c_long| cfg!(target_arch = "x86_64").then_some(call | X32);
    let all = calls.iter().flat_map(|call| std::iter::once(*call).chain(second(call)));
    all.map(|call| (call, Vec::new())).collect()
}

/// Answers the calls with this error number, and lets the others be.
fn refuse(rules: Rules, errno: libc::c_int) -> Result<bool, ConfineError> {
    install(rules, SeccompAction::Allow, SeccompAction::Errno(errno as u32))
}

fn install(rules: Rules, otherwise: SeccompAction, action: SeccompAction) -> Result<bool, ConfineError> {
    let machine = std::env::consts::ARCH.try_into().map_err(failed)?;
    let filter = SeccompFilter::new(rules, otherwise, action, machine).map_err(failed)?;
    let program: seccompiler::BpfProgram = filter.try_into().map_err(failed)?;
    match apply_filter(&program) {
        Ok(()) => Ok(true),
        Err(Error::Seccomp(e)) if matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => Ok(false),
        Err(e) => Err(failed(e)),
    }
}

fn failed(error: impl std::fmt::Display) -> ConfineError {
    ConfineError::refused("filter system calls with seccomp", error)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, ConfineError> {
    SeccompRule::new(conditions).map_err(failed)
}

/// A condition on the lower half of an argument: commands, flags and ids are 32 bits for the
/// kernel.
fn condition(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, ConfineError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value).map_err(failed)
}

fn equal(argument: u8, value: u64) -> Result<SeccompCondition, ConfineError> {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn masked_condition(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, ConfineError> {
    condition(argument, SeccompCmpOp::MaskedEq(mask), value)
}

/// A null pointer.
fn null(argument: u8) -> Result<SeccompCondition, ConfineError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0).map_err(failed)
}

//! The tables. A reviewer adds a line.

use super::super::seccomp::SYS_OPEN_TREE_ATTR;
use super::super::{WORKER_DATA_BYTES_MAX, WORKER_FD_MAX};
use super::*;
use rustix::fs::{
    Dir, MemfdFlags, chmodat, linkat, memfd_create, mkdirat, mknodat, openat, openat2, renameat, symlinkat,
    unlinkat,
};
use std::fs::{self, File};

const fn expect_done(name: &'static str, deed: fn(&TrialFolder) -> io::Result<()>) -> Trial {
    Trial { name, expected: ExpectedResult::Done, deed }
}

const fn expect_refused(name: &'static str, deed: fn(&TrialFolder) -> io::Result<()>) -> Trial {
    Trial { name, expected: ExpectedResult::Refused, deed }
}

/// A system call that must be refused with any arguments.
macro_rules! never {
    ($($call:ident)*) => {
        [$(expect_refused(concat!("system call ", stringify!($call)), |_| deeds::call(libc::$call, [0; 3]))),*]
    };
}

const WRITE: libc::c_long = libc::PROT_WRITE as libc::c_long;
const WRITE_EXECUTE: libc::c_long = WRITE | libc::PROT_EXEC as libc::c_long;
/// Typed text in a terminal's input, as if its user had.
const TIOCSTI: libc::c_long = 0x5412;

/// What a worker may and may not. What reads mounts or cache begins with `read `.
pub(super) const WORKER: &[Trial] = &[
    expect_done("read a file of a mount", |s| read(s.open_in_mount("file", OFlags::RDONLY)?)),
    expect_done("read a file in a folder of a mount", |s| {
        read(s.open_in_mount("folder/inner", OFlags::RDONLY)?)
    }),
    expect_done("read a file by openat2", |s| {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        read(openat2(&s.mount, "folder/inner", flags, Mode::empty(), BENEATH)?)
    }),
    expect_done("read a file by its handle in /proc/self/fd", |s| {
        read(s.reopen(&s.handle()?, OFlags::RDONLY)?)
    }),
    expect_done("read the names in a mount", |s| {
        let folder = s.open_in_mount(".", OFlags::RDONLY | OFlags::DIRECTORY)?;
        Dir::new(folder)?.next().map_or(Err(io::ErrorKind::NotFound.into()), |_| Ok(()))
    }),
    expect_refused("start a thread", |_| deeds::start_thread()),
    expect_done("write to its socket", |s| {
        rustix::net::send(&s.socket, b"x", rustix::net::SendFlags::NOSIGNAL).map(drop).or_else(
            // The other end was closed: it got that far.
            |errno| if errno == Errno::PIPE { Ok(()) } else { Err(errno.into()) },
        )
    }),
    expect_done("wait at its socket for a time", |s| {
        s.socket.set_read_timeout(Some(std::time::Duration::from_secs(1)))
    }),
    expect_done("draw random bytes and the time", |_| {
        let _ = (std::collections::hash_map::RandomState::new(), std::time::SystemTime::now());
        std::thread::sleep(std::time::Duration::from_nanos(1));
        Ok(())
    }),
    expect_done("make pages executable", |_| deeds::call(libc::SYS_mprotect, [0, 0, WRITE_EXECUTE & !WRITE])),
    expect_done("ask for its limits", |_| deeds::call(libc::SYS_prlimit64, [0; 3])),
    expect_refused("open an entry of the compile cache", |s| {
        Ok(openat(&s.cache, "entry", OFlags::RDONLY, Mode::empty()).map(drop)?)
    }),
    expect_refused("make a pair of datagram sockets, which send to anybody", |_| {
        let kind = libc::c_long::from(libc::SOCK_DGRAM | libc::SOCK_CLOEXEC);
        deeds::call(libc::SYS_socketpair, [libc::AF_UNIX.into(), kind, 0])
    }),
    expect_refused("make a pair of packet sockets", |_| {
        let kind = libc::c_long::from(libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC);
        deeds::call(libc::SYS_socketpair, [libc::AF_UNIX.into(), kind, 0])
    }),
    expect_refused("make pages writable and executable", |_| {
        deeds::call(libc::SYS_mprotect, [0, 0, WRITE_EXECUTE])
    }),
    expect_refused("ask for its parent's limits", |s| {
        deeds::call(libc::SYS_prlimit64, [s.parent_id(), 0, 0])
    }),
    expect_refused("signal its parent", |s| deeds::call(libc::SYS_tgkill, [s.parent_id(), s.parent_id(), 0])),
    expect_refused("have its parent signalled", |s| {
        deeds::call(libc::SYS_fcntl, [s.socket.as_raw_fd().into(), libc::F_SETOWN.into(), s.parent_id()])
    }),
    expect_refused("become dumpable", |_| deeds::call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE.into(), 1, 0])),
    expect_refused("hold more descriptors than its limit", |s| {
        let more = 0..=WORKER_FD_MAX;
        let held: Result<Vec<OwnedFd>, _> = more.map(|_| s.cache.try_clone()).collect();
        held.map(drop)
    }),
    expect_refused("make a memory file, which no limit of memory counts", |_| {
        Ok(memfd_create("trial", MemfdFlags::CLOEXEC).map(drop)?)
    }),
    expect_refused("share memory that no limit of memory counts", |_| deeds::map(libc::MAP_SHARED)),
    expect_done("have memory of its own", |_| deeds::map(libc::MAP_PRIVATE)),
    expect_refused("have more memory than its limit", |_| {
        let more = usize::try_from(WORKER_DATA_BYTES_MAX + 1).map_err(io::Error::other)?;
        Vec::<u8>::new().try_reserve_exact(more).map_err(|_| Errno::NOMEM.into())
    }),
    expect_refused("type into a terminal", |_| deeds::call(libc::SYS_ioctl, [0, TIOCSTI, 0])),
    expect_refused("open /etc/passwd", |_| deeds::open_anybodys_file()),
    expect_refused("list /", |_| fs::read_dir("/").map(drop)),
    expect_refused("open its own program", |_| File::open("/proc/self/exe").map(drop)),
    expect_refused("open its environment", |_| File::open("/proc/self/environ").map(drop)),
    expect_refused("open its memory", |_| File::open("/proc/self/mem").map(drop)),
    expect_refused("open its parent's memory", |s| {
        File::open(format!("/proc/{}/mem", s.parent_id())).map(drop)
    }),
    expect_refused("open /dev/null", |_| File::open("/dev/null").map(drop)),
    expect_refused("open a file outside by its absolute path", |s| {
        File::open(s.root.join("outside/file")).map(drop)
    }),
    expect_refused("open a file outside by `..`", |s| s.try_open("../outside/file", OFlags::RDONLY)),
    expect_refused("open a file outside through a link", |s| s.try_open("link", OFlags::RDONLY)),
    expect_refused("open a file outside by openat2", |s| {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let nothing = ResolveFlags::empty();
        Ok(openat2(&s.outside, "file", flags, Mode::empty(), nothing).map(drop)?)
    }),
    expect_refused("open a file outside by the handle of its folder", |s| {
        Ok(openat(&s.outside, "file", OFlags::RDONLY, Mode::empty()).map(drop)?)
    }),
    expect_refused("reopen the handle of a folder outside", |s| {
        s.reopen(&s.outside, OFlags::RDONLY | OFlags::DIRECTORY).map(drop)
    }),
    expect_refused("open a file of a mount for writing", |s| s.try_open("file", OFlags::WRONLY)),
    expect_refused("open a file of a mount for both", |s| s.try_open("file", OFlags::RDWR)),
    expect_refused("open a file of a mount truncated", |s| {
        s.try_open("file", OFlags::RDONLY | OFlags::TRUNC)
    }),
    expect_refused("reopen a handle for writing", |s| s.reopen(&s.handle()?, OFlags::RDWR).map(drop)),
    expect_refused("create a file in a mount", |s| s.try_open("new", OFlags::WRONLY | OFlags::CREATE)),
    expect_refused("create a file without a name", |s| s.try_open(".", OFlags::WRONLY | OFlags::TMPFILE)),
    expect_refused("create a file in the compile cache", |s| {
        let flags = OFlags::WRONLY | OFlags::CREATE;
        Ok(openat(&s.cache, "new", flags, Mode::from_raw_mode(0o600)).map(drop)?)
    }),
    expect_refused("make a folder", |s| Ok(mkdirat(&s.mount, "new", Mode::RWXU)?)),
    expect_refused("remove a file", |s| Ok(unlinkat(&s.mount, "file", AtFlags::empty())?)),
    expect_refused("rename a file", |s| Ok(renameat(&s.mount, "file", &s.mount, "new")?)),
    expect_refused("link a file", |s| Ok(linkat(&s.mount, "file", &s.mount, "new", AtFlags::empty())?)),
    expect_refused("make a symbolic link", |s| Ok(symlinkat("x", &s.mount, "new")?)),
    expect_refused("change a mode", |s| Ok(chmodat(&s.mount, "file", Mode::RWXU, AtFlags::empty())?)),
    expect_refused("start a program", |_| deeds::start("/bin/true", &[])),
    expect_refused("become a program", |_| deeds::become_program("/bin/true")),
    expect_refused("become a memory file", |_| {
        let memory = memfd_create("trial", MemfdFlags::CLOEXEC)?;
        deeds::become_program(&format!("/proc/self/fd/{}", memory.as_raw_fd()))
    }),
    expect_refused("connect to a port", |s| deeds::connect(s.port(0)?)),
];

/// What a worker would be refused for any argument.
pub(super) const WORKER_NEVER: &[Trial] = &never![
    SYS_socket SYS_connect SYS_bind SYS_listen SYS_accept4 SYS_sendmsg SYS_sendmmsg SYS_kill SYS_tkill SYS_rt_sigqueueinfo SYS_pidfd_open
    SYS_pidfd_send_signal SYS_pidfd_getfd SYS_clone3 SYS_execve SYS_execveat SYS_ptrace SYS_process_vm_readv
    SYS_process_vm_writev SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_fsopen SYS_open_tree SYS_unshare
    SYS_setns SYS_bpf SYS_perf_event_open SYS_userfaultfd SYS_io_uring_setup SYS_keyctl SYS_add_key
    SYS_init_module SYS_kexec_load SYS_reboot SYS_swapon SYS_personality SYS_seccomp SYS_landlock_create_ruleset
    SYS_landlock_restrict_self SYS_setuid SYS_setresuid SYS_capset SYS_truncate SYS_mknodat SYS_shmget SYS_msgget
    SYS_mq_open SYS_inotify_init1 SYS_fanotify_init SYS_open_by_handle_at
];

/// What a gateway may and may not.
pub(super) const GATEWAY: &[Trial] = &[
    expect_done("create a file in the workspace", |s| {
        s.try_open("new", OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
    }),
    expect_done("publish a file without a name in another folder", |s| {
        let staged = s.open_in_mount(".", OFlags::WRONLY | OFlags::TMPFILE)?;
        let name = staged.as_raw_fd().to_string();
        Ok(linkat(&s.descriptors, name, &s.mount, "folder/new", AtFlags::SYMLINK_FOLLOW)?)
    }),
    expect_done("rename a file between folders", |s| {
        Ok(renameat(&s.mount, "file", &s.mount, "folder/renamed")?)
    }),
    expect_done("truncate a file of the state", |s| File::create(s.root.join("state/file")).map(drop)),
    expect_done("read what it is granted to read", |s| fs::read(s.root.join("cache/entry")).map(drop)),
    expect_done("read random bytes of a device", |_| read(File::open("/dev/urandom")?)),
    expect_done("start a thread", |_| deeds::start_thread()),
    expect_done("connect to a port that it is granted", |s| deeds::connect(s.port(0)?)),
    expect_done("start a worker, which confines itself further", |s| {
        let words = ["confine-check", "call-worker", "open /etc/passwd", "--scene"].map(std::ffi::OsStr::new);
        deeds::start(&s.program.to_string_lossy(), &[&words[..], &[s.root.as_os_str()]].concat())
    }),
    expect_refused("write where it is granted to read", |s| {
        File::options().write(true).open(s.root.join("cache/entry")).map(drop)
    }),
    expect_refused("read a file outside", |s| File::open(s.root.join("outside/file")).map(drop)),
    expect_refused("create a file outside", |s| File::create(s.root.join("outside/new")).map(drop)),
    expect_refused("move a file out", |s| Ok(renameat(&s.mount, "folder/inner", &s.outside, "new")?)),
    expect_refused("make a FIFO in the workspace", |s| {
        Ok(mknodat(&s.mount, "fifo", FileType::Fifo, Mode::RWXU, 0)?)
    }),
    expect_refused("start another program", |s| {
        deeds::start(&s.root.join("outside/program").to_string_lossy(), &[])
    }),
    expect_refused("connect to another port", |s| deeds::connect(s.port(1)?)),
    expect_refused("listen on a port", |_| deeds::listen().map(drop)),
    expect_refused("copy a mount with other attributes", |_| deeds::call(SYS_OPEN_TREE_ATTR, [0; 3])),
    // The kernel itself starts nothing by flags that contradict each other.
    expect_refused("make a namespace of users by clone", |_| {
        deeds::call(libc::SYS_clone, [libc::c_long::from(libc::CLONE_NEWUSER | libc::CLONE_FS), 0, 0])
    }),
];

/// What a gateway would be refused for any argument.
pub(super) const GATEWAY_NEVER: &[Trial] = &never![
    SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_pidfd_getfd SYS_mount SYS_umount2 SYS_pivot_root
    SYS_chroot SYS_fsopen SYS_open_tree SYS_unshare SYS_setns SYS_bpf SYS_perf_event_open SYS_userfaultfd
    SYS_io_uring_setup SYS_keyctl SYS_init_module SYS_kexec_load SYS_reboot SYS_swapon SYS_mknodat
    SYS_quotactl_fd SYS_clone3
];

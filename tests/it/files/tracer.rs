//! One call of the real program under strace: which system calls it makes, and what becomes of it
//! when one of them fails, is slow, or is its last.
//!
//! The tracer joins when the gateway is open and waits for the call's arguments, so that what is
//! counted and what fails belongs to the call. strace counts by thread: a point is the n-th call of
//! its name on the thread that the call runs on.

use super::check::Gateway;
use super::paused::{Call, Paused};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use support::home::Ran;
use support::tracer::joined;
use support::{needs, workers};

/// What a call does to files. strace ignores a name with `?` that the machine lacks.
const TRACED: &str = "trace=openat,openat2,write,pwrite64,copy_file_range,fallocate,fsync,fdatasync,fchmod,\
    utimensat,ioctl,linkat,?renameat,renameat2,mkdirat,unlinkat,flock,ftruncate,fstat,statx,?newfstatat,\
    ?readlink,readlinkat,getdents64,lseek,pread64";

/// One system call.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    thread: String,
    pub(super) name: String,
    /// Which of this name on its thread, from 1.
    nth: u32,
    /// Its arguments and, if it was not interrupted, its result.
    pub(super) text: String,
}

/// What a worker says, hears and looks at.
const TRACED_IN_WORKERS: &str = "trace=sendto,ppoll,recvmsg,openat,openat2,read,pread64,preadv,close,fstat,\
    statx,?newfstatat,readlinkat,getdents64,lseek";

/// In what a worker waits for the gateway.
const WAIT: &str = "ppoll";

/// What a traced call came to.
pub(super) struct Traced {
    pub(super) ran: Ran,
    /// In order, those of the call's thread alone.
    pub(super) seen: Vec<Seen>,
    /// Whether a system call met an error that it was to meet.
    pub(super) met: bool,
}

/// A tracer of a program that goes on when it has left.
pub(super) struct Attached {
    tracer: Child,
    log: PathBuf,
}

impl Attached {
    /// Joins; from now on the program's calls meet what they are to meet.
    pub(super) fn to(gateway: &impl Gateway, pid: u32, met: &[String]) -> Self {
        let log = gateway.home().dir().join("strace");
        Self { tracer: join(&log, pid, met), log }
    }

    /// Leaves, and the program meets nothing any more. Whether it met an error that it was to meet.
    pub(super) fn leave(self) -> bool {
        self.log_at_the_end().contains("(INJECTED)")
    }

    fn log_at_the_end(mut self) -> String {
        interrupt(&mut self.tracer);
        fs::read_to_string(self.log).expect("a log")
    }
}

/// A tracer of the workers that wait for a call, and of none that starts later: `-f` would have
/// those meet what the call is to meet.
pub(super) struct AtWorkers {
    tracer: Child,
    log: PathBuf,
}

impl AtWorkers {
    /// Joins those of this gateway; the one that gets the next call meets what it is to meet.
    pub(super) fn of(gateway: &impl Gateway, pid: u32, met: Option<&str>) -> Self {
        let (workers, log) = (workers::of(pid), gateway.home().dir().join("strace"));
        let mut command = Command::new("strace");
        command.args(["-yy", "-s", "200", "-e", TRACED_IN_WORKERS, "-o"]).arg(&log);
        // With more than one, each line begins with whose it is.
        let ids = workers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        assert!(workers.len() > 1, "workers {ids}");
        command.args(["-p", &ids]);
        command.args(met.iter().flat_map(|met| ["-e", met]));
        let tracer = Self { tracer: joined(&mut command), log };
        // Each was interrupted and waits anew: from here on what is counted belongs to the call.
        let waiting = || counted(&tracer.log()).iter().filter(|seen| seen.name == WAIT).count();
        workers::until("workers that wait under the tracer", || waiting() == workers.len());
        tracer
    }

    /// Leaves after a call: the system calls of the worker that ran it, the two in which it waits
    /// before and after the call included.
    pub(super) fn seen(mut self) -> Vec<Seen> {
        let mut all = Vec::new();
        workers::until("a worker that waits for the next call", || {
            all = counted(&self.log());
            let ran = all.iter().find(|seen| seen.name == "sendto").map(|seen| seen.thread.clone());
            all.retain(|seen| Some(&seen.thread) == ran.as_ref());
            all.last().is_some_and(|last| last.name == WAIT)
        });
        self.leave();
        all
    }

    /// Leaves when it has killed a worker.
    pub(super) fn killed(mut self) {
        workers::until("a worker that is killed", || self.log().contains("+++ killed by SIGKILL +++"));
        self.leave();
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn leave(&mut self) {
        interrupt(&mut self.tracer);
    }
}

impl Seen {
    /// What strace is told to let this very call meet, e.g. `error=EIO`.
    pub(super) fn meets(&self, what: &str) -> String {
        format!("inject={}:{what}:when={}", self.name, self.nth)
    }
}

/// Has a tracer leave what it traces. A signal that comes just before it begins to wait is not seen
/// by it.
pub(crate) fn interrupt(tracer: &mut Child) {
    workers::until("a tracer that leaves", || {
        kill_process(Pid::from_child(tracer), Signal::INT).expect("ours");
        tracer.try_wait().expect("ours").is_some()
    });
}

/// Whether there is a tracer that may join a running program.
pub(crate) fn available(test: &str) -> bool {
    let yama = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let may_join = needs::root() || matches!(yama.trim(), "" | "0");
    needs::available(test, "strace, and the right to trace", needs::program("strace") && may_join)
}

/// Whether workers can be traced as well, which nobody else may look into.
pub(super) fn available_for_workers(test: &str) -> bool {
    needs::available(test, "strace, and root, to trace workers", needs::program("strace") && needs::root())
}

/// The one call of this name whose text has `part`.
pub(super) fn one<'a>(seen: &'a [Seen], name: &str, part: &str) -> &'a Seen {
    let fits: Vec<_> = seen.iter().filter(|seen| seen.name == name && seen.text.contains(part)).collect();
    let [one] = fits[..] else { panic!("{} calls of {name} with {part:?}", fits.len()) };
    one
}

/// Runs the call; `met` are [`Seen::meets`] of an earlier run of the same call in the same state.
/// Of two for the same system call strace knows the last.
pub(super) fn run(gateway: &impl Gateway, call: &Call, met: &[String]) -> Traced {
    let log = gateway.home().dir().join("strace");
    let paused = Paused::start(gateway, call);
    let mut tracer = join(&log, paused.pid(), met);
    let ran = paused.go(call);
    tracer.wait().expect("ours");
    let log = fs::read_to_string(log).expect("a log");
    Traced { ran, seen: parse(&log), met: log.contains("(INJECTED)") }
}

/// Runs the call, and `beside` while it is under way.
pub(super) fn run_beside(
    gateway: &(impl Gateway + Sync),
    call: &Call,
    met: &[String],
    beside: impl FnOnce(),
) -> Traced {
    std::thread::scope(|scope| {
        let traced = scope.spawn(|| run(gateway, call, met));
        beside();
        traced.join().expect("the call is traced")
    })
}

fn join(log: &Path, pid: u32, met: &[String]) -> Child {
    let mut command = Command::new("strace");
    command.args(["-f", "-yy", "-s", "200", "-e", TRACED, "-p", &pid.to_string(), "-o"]).arg(log);
    for one in met {
        command.args(["-e", one]);
    }
    if met.iter().any(|one| one.starts_with("inject=write:")) {
        // The answer is written to stdout, by another thread: here the audit alone may fail.
        let audit = log.with_file_name("state").join("audit.jsonl");
        command.arg("-P").arg(audit);
    }
    joined(&mut command)
}

/// The system calls of the thread that stages files and writes the audit.
fn parse(log: &str) -> Vec<Seen> {
    let mut seen = counted(log);
    let works_on =
        seen.iter().find(|s| s.name == "flock" && s.text.contains("LOCK_")).map(|s| s.thread.clone());
    seen.retain(|s| works_on.as_ref().is_none_or(|thread| *thread == s.thread));
    seen
}

/// All system calls of a log in which lines begin with their thread; of the writes those to the
/// audit.
fn counted(log: &str) -> Vec<Seen> {
    let mut counts = BTreeMap::new();
    let mut seen = Vec::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(char::is_whitespace) else { continue };
        let Some((name, text)) = rest.trim_start().split_once('(') else { continue };
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            || (name == "write" && !text.contains("audit.jsonl"))
        {
            continue;
        }
        let nth = counts.entry((thread.to_owned(), name.to_owned())).or_insert(0);
        *nth += 1;
        seen.push(Seen { thread: thread.into(), name: name.into(), nth: *nth, text: text.into() });
    }
    seen
}

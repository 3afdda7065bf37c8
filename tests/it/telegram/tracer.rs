//! A tracer that joins the serving program, and kills it at a chosen system call, holds that up, or
//! writes down what reaches the disk.
//!
//! It joins while a gate of the server holds the program still, so the call that is counted is the
//! next one of its name.

use crate::files::tracer::interrupt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;
use support::needs;
use support::tracer::joined;

/// strace, joined to a program; it ends with the program.
pub(super) struct Tracer(Child);

/// Whether there is a tracer that may join a running program.
pub(super) fn available(test: &str) -> bool {
    let yama = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let may_join = needs::root() || matches!(yama.trim(), "" | "0");
    needs::available(test, "strace, and the right to trace", needs::program("strace") && may_join)
}

impl Tracer {
    /// Lets `call`, the `nth` of its name on its thread, be the last thing that `pid` does: it is
    /// killed before the call happens. Only calls on the file `of` count, if there is one.
    pub(super) fn kills(pid: u32, call: &str, nth: u32, of: Option<&Path>) -> Self {
        Self::join(pid, call, &format!("signal=KILL:when={nth}"), of)
    }

    /// Lets each `call` of `pid` take so long, until this is dropped.
    pub(super) fn delays(pid: u32, call: &str, by: Duration) -> Self {
        Self::join(pid, call, &format!("delay_enter={}", by.as_micros()), None)
    }

    /// Writes down in which order `pid` writes to its database and syncs files, and what it writes.
    pub(super) fn logs(pid: u32, to: &Path) -> Self {
        let mut command = Command::new("strace");
        command.args(["-f", "-yy", "-s", "8192", "-e", "trace=pwrite64,fsync"]);
        command.args(["-p", &pid.to_string(), "-o"]).arg(to);
        Self(joined(&mut command))
    }

    /// Leaves the program, which goes on.
    pub(super) fn leave(mut self) {
        interrupt(&mut self.0);
    }

    fn join(pid: u32, call: &str, meets: &str, of: Option<&Path>) -> Self {
        let mut command = Command::new("strace");
        command.args(["-f", "-o", "/dev/null", "-p", &pid.to_string()]);
        command.args(["-e", &format!("trace={call}"), "-e", &format!("inject={call}:{meets}")]);
        if let Some(of) = of {
            command.arg("-P").arg(of);
        }
        Self(joined(&mut command))
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // What it traces has ended, or must not go on under it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// After how many lines of [`Tracer::logs`] a file of a reply is on disk: first its bytes, while it
/// has no name that anybody knows, then that name.
pub(super) fn synced(log: &str) -> usize {
    let lines: Vec<&str> = log.lines().collect();
    let fsync = |from: usize, of: &str| {
        let is_it = |line: &&str| line.contains(" fsync(") && line.contains(of);
        lines[from..].iter().position(is_it).map(|at| from + at + 1)
    };
    let bytes = fsync(0, "/outgoing/.tmp").expect("its bytes are synced");
    fsync(bytes, "/outgoing>").expect("its name is synced after them")
}

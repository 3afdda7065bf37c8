//! A tracer that joins the serving program, and kills it at a chosen system call or holds that up.
//!
//! It joins while a gate of the server holds the program still, so the call that is counted is the
//! next one of its name.

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

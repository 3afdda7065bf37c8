//! `cofferdam reload`: has the running `serve` of this configuration's state read its configuration
//! anew, and tells what came of it.
//!
//! It changes nothing itself. It finds the process as `status` does, by its lock, and reads the
//! result in the note that the process keeps.

use super::Exit;
use crate::config::Config;
use crate::gateway;
use anyhow::{Context, bail};
use cofferdam_store as store;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::Write;
use std::time::{Duration, Instant};

/// Tools may have to be compiled first.
const WAIT_MAX: Duration = Duration::from_secs(300);
/// How often the note is read.
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(super) fn run(config: &Config) -> anyhow::Result<Exit> {
    let Some(pid) = gateway::find_serving_process(config) else { return report_not_running(config) };
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).context("the kernel names an odd process")?;
    let process = pidfd_open(raw, PidfdFlags::empty());
    // From here on another process cannot be taken for it; before, it may have ended.
    let (Ok(process), Some(true)) = (process, gateway::find_serving_process(config).map(|now| now == pid))
    else {
        return report_not_running(config);
    };
    if !catches(pid, Signal::USR1) {
        super::tell(&format!(
            "the gateway (process {pid}) cannot be asked to reload: it is starting, or it is an older release; try again, \
             or restart it"
        ));
        return Ok(Exit::ProblemFound);
    }
    let reloads = || {
        store::read_note(&gateway::note_file(config))
            .filter(|noted| noted.pid == pid)
            .map(|noted| noted.reloads)
    };
    let before = reloads().map_or(0, |reloads| reloads.begun);
    pidfd_send_signal(&process, Signal::USR1)
        .with_context(|| format!("cannot signal process {pid}; run this as its account"))?;
    let started = Instant::now();
    loop {
        // One that began later than this command has read what is there now.
        if let Some(ended) = reloads().and_then(|reloads| reloads.ended).filter(|ended| ended.number > before)
        {
            if !ended.applied {
                bail!("the running gateway refuses it and goes on as before: {}", ended.said);
            }
            writeln!(super::stdout(), "in force: {}", ended.said)?;
            return Ok(Exit::Done);
        }
        if gateway::find_serving_process(config) != Some(pid) {
            return report_not_running(config);
        }
        if started.elapsed() > WAIT_MAX {
            super::tell(&format!("process {pid} was asked, and has not answered; its log says more"));
            return Ok(Exit::ProblemFound);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn report_not_running(config: &Config) -> anyhow::Result<Exit> {
    let state = config.state_dir.display();
    super::tell(&match gateway::is_state_closed(config) {
        true => {
            format!("{state} is closed to this account, so no gateway can be seen; run this as its account")
        }
        false => format!("no gateway runs with the state {state}; start it with cofferdam serve"),
    });
    Ok(Exit::ProblemFound)
}

/// Whether the process has a handler for this signal: else it would be ended by it.
fn catches(pid: u32, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal.as_raw() - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_a_handler_is_known() {
        // This one has none for it, and neither has one that does not exist.
        assert!(!catches(std::process::id(), Signal::USR2) && !catches(0, Signal::USR1));
    }
}

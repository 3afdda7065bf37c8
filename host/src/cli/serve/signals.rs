//! What has a running `serve` read its configuration anew: SIGUSR1, which `cofferdam reload` sends,
//! and SIGHUP where that cannot mean that a terminal was closed.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What SIGHUP does to this process, fixed at its start: by the time that it comes the terminal may
/// be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hangup {
    /// No terminal can have sent it: the configuration is read anew, as by other services.
    Reloads,
    /// The terminal was closed: the process ends as by SIGTERM.
    Ends,
    /// The one who started the process has it ignored, as `nohup` does.
    Ignored,
}

impl Hangup {
    /// Of this process. Legal before anything handles the signal.
    pub(super) fn register() -> Self {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        Self::from_proc(&read("/proc/self/stat"), &read("/proc/self/status"))
    }

    /// Without `/proc` nobody knows of a terminal.
    fn from_proc(stat: &str, status: &str) -> Self {
        // `12 (name) S ppid pgrp session tty …`: the name may hold anything, parentheses too.
        let tty = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(4));
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        match tty {
            None | Some("0") => Self::Reloads,
            // SIGHUP is number 1, the lowest bit.
            Some(_) if ignored & 1 != 0 => Self::Ignored,
            Some(_) => Self::Ends,
        }
    }
}

pub(super) struct ReloadSignals {
    by_command: Signal,
    by_hangup: Option<Signal>,
}

impl ReloadSignals {
    /// From here on they end nothing. One that comes before it is waited for is not lost.
    pub(super) fn listen(hangup: Hangup) -> io::Result<Self> {
        let by_hangup = (hangup == Hangup::Reloads).then(|| signal(SignalKind::hangup())).transpose()?;
        Ok(Self { by_command: signal(SignalKind::user_defined1())?, by_hangup })
    }

    /// Waits for the next one. Several that come meanwhile are one or two.
    pub(super) async fn next(&mut self) -> Option<()> {
        match &mut self.by_hangup {
            Some(by_hangup) => tokio::select! {
                asked = self.by_command.recv() => asked,
                asked = by_hangup.recv() => asked,
            },
            None => self.by_command.recv().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hangup_is_told_by_the_terminal_and_by_who_started_the_process() {
        let stat = |tty: &str| format!("12 (a) S 7 (b) S 1 12 12 {tty} -1 4194304");
        let (handled, ignored) = ("Name:\tx\nSigIgn:\t0000000000001000\n", "SigIgn:\t0000000000001001\n");
        assert_eq!(Hangup::from_proc(&stat("0"), handled), Hangup::Reloads);
        assert_eq!(Hangup::from_proc(&stat("0"), ignored), Hangup::Reloads, "nobody else would send it");
        assert_eq!(Hangup::from_proc(&stat("34816"), handled), Hangup::Ends);
        assert_eq!(Hangup::from_proc(&stat("34816"), ignored), Hangup::Ignored);
        assert_eq!(Hangup::from_proc("", ""), Hangup::Reloads);
    }
}

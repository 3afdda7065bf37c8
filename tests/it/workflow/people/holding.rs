//! System calls of a gateway that take until a test lets go: a slow disk, or the moment between two
//! steps.

use crate::files::tracer::{available, interrupt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use support::home::Home;
use support::serving::Serving;
use support::tracer::joined;

/// Longer than a test takes to let go.
const HELD_MAX: Duration = Duration::from_secs(300);

/// A tracer that holds calls; they go on when it is dropped.
pub(super) struct Holding {
    tracer: Child,
    log: PathBuf,
}

impl Holding {
    /// From now on each call of this name that names this very path is held; none where nothing can
    /// be traced.
    pub(super) fn calls(
        test: &str,
        (home, serving): (&Home, &Serving),
        name: &str,
        path: &Path,
    ) -> Option<Self> {
        if !available(test) {
            return None;
        }
        let log = home.dir().join("strace");
        let mut command = Command::new("strace");
        command.args(["-f", "-e", &format!("trace={name}")]).arg("-P").arg(path);
        command.args(["-e", &format!("inject={name}:delay_enter={}", HELD_MAX.as_micros())]);
        command.args(["-p", &serving.pid().to_string(), "-o"]).arg(&log);
        Some(Self { tracer: joined(&mut command), log })
    }

    /// Waits until so many are held.
    pub(super) async fn holds(&self, calls: usize, patience: Duration) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let log = self.log();
            // Each is named when it begins, and once more when it goes on.
            if log.lines().filter(|line| line.contains('(') && !line.contains("resumed>")).count() >= calls {
                return Ok(());
            }
            anyhow::ensure!(began.elapsed() < patience, "{calls} calls are not held: {log}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether none has gone on.
    pub(super) fn holds_all(&self) -> bool {
        !self.log().contains("(DELAYED)")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        interrupt(&mut self.tracer);
    }
}

//! The program, open and waiting for the arguments of its call: the moment at which a test turns
//! the world against it. Whatever happens from then on belongs to the call.

use super::check::Gateway;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use support::home::Ran;

/// One call of a tool.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    /// The files that come with it.
    pub(super) attached: Vec<String>,
}

/// A started program whose arguments are still to come.
pub(super) struct Paused {
    program: Child,
    arguments: File,
}

impl Paused {
    /// Starts the program on a call and returns when it waits for the arguments.
    pub(super) fn start(gateway: &impl Gateway, call: &Call) -> Self {
        Self::start_under(gateway, &[], call)
    }

    /// The same under another program, which must become it.
    pub(super) fn start_under(gateway: &impl Gateway, wrapper: &[&str], call: &Call) -> Self {
        let pipe = gateway.home().dir().join("arguments");
        if !pipe.exists() {
            mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("FIFOs are possible");
        }
        let from = format!("@{}", pipe.display());
        let mut arguments = vec!["call", call.tool, "--args", &from];
        arguments.extend(call.attached.iter().flat_map(|file| ["--attach", file]));
        let mut command: Command = gateway.command(wrapper, &arguments);
        let mut program =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        loop {
            // Opening fails as long as nobody reads.
            if let Ok(fd) = open(&pipe, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
                wait_for_workers(program.id());
                return Self { program, arguments: File::from(fd) };
            }
            let ended = program.try_wait().expect("ours");
            assert!(
                ended.is_none(),
                "it ended before it read its arguments: {:?}",
                program.wait_with_output()
            );
            std::thread::yield_now();
        }
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.program.id()
    }

    /// Hands over the arguments and waits for the end.
    pub(super) fn go(mut self, call: &Call) -> Ran {
        self.arguments.write_all(call.arguments.to_string().as_bytes()).expect("the program reads");
        drop(self.arguments);
        self.program.wait_with_output().expect("ours").into()
    }
}

/// Waits until the worker of the call is there and confined: what happens to the gateway from then
/// on does not happen to it.
fn wait_for_workers(gateway: u32) {
    let confined = |pid: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let value =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(|v| v.trim().to_owned());
        // The filter of the gateway is inherited; the worker's own are three more. One that was
        // only tried is ending.
        value("State:").is_some_and(|state| state.starts_with('S'))
            && value("Seccomp_filters:").and_then(|n| n.parse::<u32>().ok()) >= Some(4)
    };
    loop {
        let tasks = fs::read_dir(format!("/proc/{gateway}/task")).expect("it runs");
        let children: String = tasks
            .flatten()
            .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
            .collect::<Vec<_>>()
            .join(" ");
        if children.split_whitespace().filter(|pid| confined(pid)).count() >= 1 {
            return;
        }
        std::thread::yield_now();
    }
}

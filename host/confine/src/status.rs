//! What `/proc/self` says of this process: its threads, its privileges as measured, its own
//! program.

use super::report::{Capabilities, ConfinementMode, Landlock, Report, Seccomp};
use super::{ConfineError, GatewayPaths};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const STATUS: &str = "/proc/self/status";
const TASK: &str = "/proc/self/task";
const MAPS: &str = "/proc/self/maps";

/// Refuses when threads run that the confinement would not reach.
pub(super) fn single_threaded() -> Result<(), ConfineError> {
    let threads = fs::read_dir(TASK).map_err(|cause| ConfineError::Proc(TASK, cause))?.count();
    if threads == 1 { Ok(()) } else { Err(ConfineError::Threads(threads)) }
}

/// The status file, opened while it can be and read by [`report`] once all is in force.
pub(super) fn open_status() -> Result<File, ConfineError> {
    File::open(STATUS).map_err(failed)
}

/// What is in force, as the kernel tells it; `filtered` says whether it took our filter of
/// system calls: a container's own is none of ours.
pub(super) fn report(
    status: &File,
    who: ConfinementMode,
    landlock: Option<Landlock>,
    filtered: bool,
    rlimits: BTreeMap<String, u64>,
) -> Result<Report, ConfineError> {
    let mut bytes = [0; 8192];
    let read = status.read_at(&mut bytes, 0).map_err(failed)?;
    let text = String::from_utf8_lossy(&bytes[..read]);
    let field =
        |name: &str| text.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()));
    let set = |name: &str| u64::from_str_radix(field(name).unwrap_or_default(), 16).unwrap_or(u64::MAX);
    let number = |name: &str| field(name).and_then(|n| n.parse::<u32>().ok());
    Ok(Report {
        who,
        no_new_privs: field("NoNewPrivs") == Some("1"),
        capabilities: Capabilities {
            effective: set("CapEff"),
            permitted: set("CapPrm"),
            inheritable: set("CapInh"),
            ambient: set("CapAmb"),
            bounding: set("CapBnd"),
        },
        landlock,
        seccomp: match number("Seccomp") {
            Some(2) if filtered => Seccomp::Filter { filters: number("Seccomp_filters").unwrap_or(1) },
            Some(_) => Seccomp::Off,
            None => Seccomp::Unsupported,
        },
        rlimits,
    })
}

fn failed(cause: std::io::Error) -> ConfineError {
    ConfineError::Proc(STATUS, cause)
}

/// The program itself, its loader (to be executed) and its libraries' folders (to be read), for
/// [`GatewayPaths`]: what is mapped to be executed.
///
/// # Errors
/// [`ConfineError::Proc`].
pub fn own_program() -> Result<GatewayPaths, ConfineError> {
    let text = fs::read_to_string(MAPS).map_err(|cause| ConfineError::Proc(MAPS, cause))?;
    let program = PathBuf::from("/proc/self/exe");
    let mut paths = GatewayPaths { execute: vec![program], ..GatewayPaths::default() };
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let rights = fields.nth(1).unwrap_or_default();
        let Some(at) = line.find('/').filter(|_| rights.contains('x')) else { continue };
        let file = Path::new(&line[at..]);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        // `ld-linux-x86-64.so.2`, `ld-musl-aarch64.so.1`: by convention the only ones of this name.
        if name.starts_with("ld-") {
            paths.execute.push(file.to_owned());
        } else if name.contains(".so") {
            paths.read_only.extend(file.parent().map(Path::to_owned));
        }
    }
    paths.read_only.sort();
    paths.read_only.dedup();
    Ok(paths)
}

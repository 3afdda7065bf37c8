//! What this kernel can do of what the gateway uses.

use super::finding::DoctorFinding;
use super::isolation::Isolation;
use cofferdam_confine::Seccomp;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Kernel {
    release: String,
    /// Paths are resolved beneath a mount; without it nothing starts.
    openat2: bool,
    /// Files are staged without a name; without it under a temporary one.
    o_tmpfile: bool,
    landlock_abi: Option<u32>,
    seccomp: bool,
    /// By the release: dirty pages of a guest are found in place; without it its memory is mapped
    /// anew.
    pagemap_scan: bool,
    pidfd: bool,
    /// The sysctl `vm.memfd_noexec`; none before Linux 6.3, where any memory file can be run.
    memfd_noexec: Option<u8>,
    /// Descriptors that a gateway started from here may have open; none: any number.
    descriptors: Option<u64>,
}

/// Where the kernel says whether memory files can be run: 0 and 1 let those be that ask for it.
const MEMFD_NOEXEC: &str = "/proc/sys/vm/memfd_noexec";
/// With fewer, the descriptors in flight to a few workers leave none for the gateway.
const DESCRIPTORS_MIN: u64 = 4096;

pub(super) fn look(isolation: &Isolation, findings: &mut Vec<DoctorFinding>) -> Kernel {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let openat2 = rustix::fs::openat2(CWD, ".", flags, Mode::empty(), ResolveFlags::BENEATH).is_ok();
    if !openat2 {
        findings.push(DoctorFinding::problem(
            "kernel",
            "openat2 does not work, and without it nothing starts",
            "boot Linux 5.9 or newer; in a container, allow openat2 in its seccomp profile",
        ));
    }
    // By now this process has raised its own to what it may have, as serve does.
    let descriptors = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    if let Some(few) = descriptors.filter(|most| *most < DESCRIPTORS_MIN) {
        findings.push(DoctorFinding::notice(
            "kernel",
            format!("a process may have {few} files open here; {DESCRIPTORS_MIN} are few for a gateway with workers"),
            format!("ulimit -Hn {DESCRIPTORS_MIN}, where serve is started; LimitNOFILE={DESCRIPTORS_MIN} in its unit"),
        ));
    }
    let memfd_noexec = std::fs::read_to_string(MEMFD_NOEXEC).ok().and_then(|text| text.trim().parse().ok());
    if memfd_noexec.is_some_and(|value| value > 1) {
        findings.push(DoctorFinding::problem(
            "kernel",
            "vm.memfd_noexec is 2: no memory file can be run, and workers are started from one",
            "sysctl -w vm.memfd_noexec=1",
        ));
    }
    let unnamed = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let report = isolation.reports.first();
    Kernel {
        o_tmpfile: rustix::fs::open(std::env::temp_dir(), unnamed, Mode::RWXU).is_ok(),
        openat2,
        landlock_abi: report.and_then(|report| Some(report.landlock.as_ref()?.abi)),
        seccomp: report.is_some_and(|report| matches!(report.seccomp, Seccomp::Filter { .. })),
        pagemap_scan: version(&release) >= (6, 7),
        pidfd: rustix::process::pidfd_open(rustix::process::getpid(), rustix::process::PidfdFlags::empty())
            .is_ok(),
        memfd_noexec,
        descriptors,
        release: release.trim().to_owned(),
    }
}

/// `6.18.44-generic` as its first two numbers.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

impl Kernel {
    pub(super) fn tell(&self, line: &mut impl FnMut(String)) {
        let yes = |there: bool| if there { "yes" } else { "NO" };
        let landlock = self.landlock_abi.map_or("NO".to_owned(), |abi| format!("ABI {abi}"));
        line(format!(
            "kernel {}: openat2 {}, O_TMPFILE {}, Landlock {landlock}, seccomp {}, PAGEMAP_SCAN {}, pidfd {}",
            self.release,
            yes(self.openat2),
            yes(self.o_tmpfile),
            yes(self.seccomp),
            yes(self.pagemap_scan),
            yes(self.pidfd)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn a_release_is_compared_by_its_numbers() {
        for (release, expected) in
            [("6.18.44-fc", (6, 18)), ("6.7\n", (6, 7)), ("10.0-rc1", (10, 0)), ("", (0, 0)), ("x", (0, 0))]
        {
            assert_eq!(version(release), expected, "{release}");
        }
    }
}

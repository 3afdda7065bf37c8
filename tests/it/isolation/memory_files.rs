//! Workers are started from a memory file, through `/proc`: where the system forbids that, nothing
//! starts, and it is said what to do.

use super::{findings, text};
use support::home::{Home, Ran};
use support::namespace::{self, Namespace};
use support::needs;

/// Runs a script in process namespaces of its own, where the sysctl is 2.
const FORBIDDEN: [&str; 8] = [
    "unshare",
    "--pid",
    "--fork",
    "--mount-proc",
    "sh",
    "-c",
    "echo 2 > /proc/sys/vm/memfd_noexec && exec \"$@\"",
    "sh",
];

fn forbidden(home: &Home, words: &[&str]) -> Ran {
    home.command_under(&FORBIDDEN, words).output().expect("unshare starts").into()
}

/// Whether the sysctl can be set for some processes alone, as it can since Linux 6.3.
fn available(test: &str) -> bool {
    let tried = || {
        let [program, words @ ..] = FORBIDDEN;
        let mut command = std::process::Command::new(program);
        command.args(words).arg("true").output().is_ok_and(|output| output.status.success())
    };
    needs::available(test, "root, unshare --pid and vm.memfd_noexec", needs::root() && tried())
}

const SAYS: &str = "cannot start a worker from memory: Permission denied (os error 13); where sysctl vm.memfd_noexec is 2, \
                    set it to 1";

#[test]
fn where_none_can_be_run_nothing_starts_and_the_sysctl_is_named() {
    if !available("isolation::memory_files::where_none_can_be_run_nothing_starts_and_the_sysctl_is_named") {
        return;
    }
    let home = Home::new();
    for words in [&["call", "file_read", "path=/shared/a"][..], &["chat"]] {
        let ran = forbidden(&home, words);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(SAYS), "{ran:?}");
    }
    assert_eq!(home.audit().len(), 0, "nothing was called");
}

#[test]
fn doctor_finds_it_and_what_it_names_mends_it() {
    if !available("isolation::memory_files::doctor_finds_it_and_what_it_names_mends_it") {
        return;
    }
    let home = Home::new();
    let ran = forbidden(&home, &["doctor", "--offline", "--json"]);
    let value = ran.json();
    assert_eq!(
        (ran.code, &value["ok"], &value["kernel"]["memfd_noexec"]),
        (Some(3), &false.into(), &2.into())
    );
    let found = findings(&value);
    assert!(found.contains(&format!("tools: the sandbox does not start: {SAYS}")), "{found:?}");
    let place = found.iter().position(|found| found.starts_with("kernel: vm.memfd_noexec is 2: "));
    let mend = text(&value["findings"][place.expect("told")]["mend"]).to_owned();
    let script = format!("echo 2 > /proc/sys/vm/memfd_noexec && {mend} >&2 && exec \"$@\"");
    let words = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", &script, "sh"];
    let mended: Ran = home
        .command_under(&words, &["doctor", "--offline", "--json"])
        .output()
        .expect("unshare starts")
        .into();
    assert_eq!((mended.code, &mended.json()["kernel"]["memfd_noexec"]), (Some(0), &1.into()), "{mended:?}");
}

#[test]
fn without_proc_nothing_starts_and_it_is_named() {
    if !namespace::available("isolation::memory_files::without_proc_nothing_starts_and_it_is_named") {
        return;
    }
    let home = Home::new();
    let inside = Namespace::new(home.dir(), "mount -t tmpfs none /proc");
    let wrapper = inside.wrapper();
    let ran: Ran = home
        .command_under(&wrapper.each_ref().map(String::as_str), &["call", "file_read", "path=/shared/a"])
        .output()
        .expect("nsenter starts")
        .into();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("through /proc, which must be mounted"), "{ran:?}");
}

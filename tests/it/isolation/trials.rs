//! Every row of the tables of trials, in a confined process: what must be refused is, what must
//! work does.

use super::{doctor, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use support::home::{Home, Ran};
use support::{needs, program};

/// Asserts each attempt, and returns their names by the kind of process.
fn all_as_expected(value: &Value) -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for attempt in value["isolation"]["attempts"].as_array().expect("a list") {
        assert_eq!(attempt["ok"], true, "{attempt}");
        // Recomputed: `ok` is the program's own word.
        let outcome = &attempt["outcome"];
        let refused = [1, 12, 13, 18, 24, 30, 38].iter().any(|errno| outcome["refused"] == *errno)
            || [libc::SIGSYS, libc::SIGXFSZ].iter().any(|signal| outcome["killed"] == *signal);
        match text(&attempt["expected"]) {
            "done" => assert_eq!(outcome, "done", "{attempt}"),
            _ => assert!(refused, "{attempt}"),
        }
        names.entry(text(&attempt["who"]).to_owned()).or_default().push(text(&attempt["attempt"]).to_owned());
    }
    names
}

#[test]
fn what_is_tried_is_refused_or_works_as_the_table_says() {
    let (ran, value) = doctor(&Home::new());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let names = all_as_expected(&value);
    let worker = [
        "read a file by openat2",
        "read a file by its handle in /proc/self/fd",
        "open /etc/passwd",
        "open a file outside by `..`",
        "open a file outside through a link",
        "open a file outside by the handle of its folder",
        "open a file of a mount for writing",
        "reopen a handle for writing",
        "create a file in a mount",
        "rename a file",
        "start a program",
        "become a memory file",
        "make pages writable and executable",
        "signal its parent",
        "hold more descriptors than its limit",
        "make a memory file, which no limit of memory counts",
        "share memory that no limit of memory counts",
        "start a thread",
        "make a pair of datagram sockets, which send to anybody",
        "have more memory than its limit",
    ];
    let calls =
        ["SYS_socket", "SYS_ptrace", "SYS_mount", "SYS_unshare"].map(|call| format!("system call {call}"));
    for (who, least, some) in [
        (
            "gateway",
            35,
            &[
                "start a thread",
                "start a worker, which confines itself further",
                "start another program",
                "make a namespace of users by clone",
                "copy a mount with other attributes",
            ][..],
        ),
        ("call-worker", 90, &worker),
        ("compile-worker", 45, &worker),
    ] {
        let tried = &names[who];
        assert!(tried.len() >= least, "{who}: {} attempts", tried.len());
        for name in some {
            assert!(tried.iter().any(|tried| tried == name), "{who} does not try {name:?}: {tried:?}");
        }
    }
    for call in &calls {
        assert!(names["call-worker"].contains(call), "{call}");
    }
}

#[test]
fn what_is_in_force_is_what_the_kernel_says() {
    let (_, value) = doctor(&Home::new());
    let reports = value["isolation"]["reports"].as_array().expect("a list");
    let who: Vec<_> = reports.iter().map(|report| text(&report["who"])).collect();
    assert_eq!(who, ["gateway", "call-worker", "compile-worker"]);
    for report in reports {
        assert_eq!(
            (&report["no_new_privs"], &report["rlimits"]["core"]),
            (&true.into(), &0.into()),
            "{report}"
        );
        assert!(report["landlock"]["abi"].as_u64() >= Some(4), "{report}");
        let rights = report["landlock"]["files"].as_array().expect("a list");
        for right in ["Execute", "WriteFile", "ReadFile", "ReadDir", "Truncate", "Refer"] {
            assert!(rights.iter().any(|handled| handled == right), "{right}: {report}");
        }
    }
    for (n, filters) in [(0, 1), (1, 3), (2, 3)] {
        assert!(reports[n]["seccomp"]["filter"]["filters"].as_u64() >= Some(filters), "{}", reports[n]);
    }
    for worker in &reports[1..] {
        for set in ["effective", "permitted", "inheritable", "ambient"] {
            assert_eq!(worker["capabilities"][set], 0, "{worker}");
        }
    }
    // Whoever is not root cannot empty this set, and gains nothing from it.
    if support::needs::root() {
        assert_eq!(reports[1]["capabilities"]["bounding"], 0);
    }
    assert_eq!((&reports[1]["rlimits"]["cpu"], &reports[2]["rlimits"]["cpu"]), (&Value::Null, &300.into()));
}

#[test]
fn the_same_holds_without_roots_rights() {
    if !needs::available("isolation::trials::the_same_holds_without_roots_rights", "root", needs::root()) {
        return;
    }
    // Its own copy of the program, in a folder of its own: the build's may be closed to others.
    let dir = tempfile::Builder::new().prefix("cofferdam-test-").tempdir().expect("a folder");
    let nobody = 65534;
    let copy = dir.path().join("cofferdam");
    program::copy_cofferdam(&copy);
    std::os::unix::fs::chown(dir.path(), Some(nobody), Some(nobody)).expect("root may");
    let mut command = std::process::Command::new(copy);
    command.uid(nobody).gid(nobody).env_clear().env("HOME", dir.path()).current_dir(dir.path());
    let ran = Ran::from(command.args(["doctor", "--json"]).output().expect("starts"));
    let value = ran.json();
    let names = all_as_expected(&value);
    assert_eq!(names.len(), 3, "{ran:?}");
    assert_eq!(value["isolation"]["reports"][1]["capabilities"]["permitted"], 0);
    assert_eq!(value["findings"], serde_json::json!([]));
}

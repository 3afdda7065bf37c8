//! What can be asked without giving up this test process: refusals, and what a report makes of its
//! parts.

use super::*;
use std::collections::BTreeMap;

fn report(who: ConfinementMode) -> Report {
    Report {
        who,
        no_new_privs: true,
        capabilities: Capabilities { effective: 0, permitted: 0, inheritable: 0, ambient: 0, bounding: 0 },
        landlock: Some(Landlock {
            abi: 6,
            files: vec!["ReadFile".into()],
            tcp: Vec::new(),
            scoped: Vec::new(),
        }),
        seccomp: Seccomp::Filter { filters: 3 },
        rlimits: BTreeMap::from([("core".into(), 0)]),
    }
}

#[test]
fn a_process_with_threads_is_refused() {
    // The tests' own runner is another thread.
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let waiting = std::thread::spawn(move || receiver.recv());
    assert!(matches!(worker(WorkerKind::Call, &[]), Err(ConfineError::Threads(n)) if n > 1));
    assert!(matches!(gateway(&GatewayPaths::default(), Some(&[])), Err(ConfineError::Threads(n)) if n > 1));
    // A child would hold the locks of threads that it does not have.
    assert!(trial::run_in_child(|| 0).is_err());
    drop(sender);
    waiting.join().expect("ends").expect_err("nothing was sent");
}

#[test]
fn what_is_missing_is_named() {
    let check = |change: &dyn Fn(&mut Report), expected: &[MissingControl]| {
        let mut report = report(ConfinementMode::CallWorker);
        change(&mut report);
        assert_eq!(report.missing_controls(), expected);
    };
    check(&|_| {}, &[]);
    check(&|r| r.no_new_privs = false, &[MissingControl::NoNewPrivs]);
    check(&|r| r.capabilities.permitted = 1, &[MissingControl::Capabilities]);
    check(&|r| r.capabilities.ambient = 1, &[MissingControl::Capabilities]);
    check(&|r| r.capabilities.bounding = 1, &[]);
    check(&|r| r.seccomp = Seccomp::Off, &[MissingControl::Seccomp]);
    check(&|r| r.seccomp = Seccomp::Unsupported, &[MissingControl::Seccomp]);
    check(&|r| r.landlock = None, &[MissingControl::Landlock]);
    let old = |abi| move |r: &mut Report| r.landlock.as_mut().expect("set").abi = abi;
    check(&old(LANDLOCK_ABI_MIN), &[]);
    check(&old(LANDLOCK_ABI_MIN - 1), &[MissingControl::LandlockAbi(3)]);
    // A gateway of root keeps its rights over other people's files.
    let mut gateway = report(ConfinementMode::Gateway);
    gateway.capabilities.permitted = 3;
    assert_eq!(gateway.missing_controls(), []);
}

#[test]
fn a_report_survives_the_socket_and_is_one_line() {
    let report = report(ConfinementMode::CompileWorker);
    let json = serde_json::to_string(&report).expect("plain data");
    assert_eq!(serde_json::from_str::<Report>(&json).expect("the same"), report);
    assert!(serde_json::from_str::<Report>(&json.replace("\"who\"", "\"more\":1,\"who\"")).is_err());
    assert_eq!(
        report.to_string(),
        "worker (compile): no_new_privs yes; capabilities none; Landlock ABI 6 (1 file rights, 0 TCP rights, 0 scopes); \
         seccomp 3 filters; rlimits core 0"
    );
}

#[test]
fn the_program_knows_what_starting_it_again_takes() {
    let own = own_program().expect("/proc is there");
    assert!(own.execute.contains(&"/proc/self/exe".into()), "{own:?}");
    assert!(own.execute.iter().all(|file| file.is_file()), "{own:?}");
    assert!(own.read_write.is_empty(), "{own:?}");
}

//! Many processes at once on one workspace and one audit: exactly one wins what only one can have,
//! files are whole at every moment, and none clears away what another is working on.

use super::check::{home, save, saves, works};
use super::scenario::scenario;
use super::tracer;
use serde_json::Value;
use std::fs;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::home::{Home, Ran};

const PROCESSES: usize = 16;

/// Calls that run at the same time.
fn all_at_once(home: &Home, arguments: impl Fn(usize) -> Vec<String>) -> Vec<Ran> {
    let start = |n: usize| -> Child {
        let arguments = arguments(n);
        let mut all = vec!["call"];
        all.extend(arguments.iter().map(String::as_str));
        home.command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    };
    let children: Vec<_> = (0..PROCESSES).map(start).collect();
    children.into_iter().map(|child| child.wait_with_output().expect("ours").into()).collect()
}

/// What process `n` saves: one letter again and again, so that a mixture shows.
fn content(n: usize) -> Vec<u8> {
    vec![b'a' + u8::try_from(n).expect("few"); (300 << 10) + n]
}

fn saving(home: &Home, path: &str, overwrite: bool) -> impl Fn(usize) -> Vec<String> {
    let files: Vec<_> = (0..PROCESSES).map(|n| home.file(&format!("sent{n}"), &content(n))).collect();
    let (path, overwrite) = (format!("path={path}"), format!("overwrite={overwrite}"));
    move |n| save(&path, &overwrite, &files[n]).map(str::to_owned).to_vec()
}

#[test]
fn one_creates_and_the_others_are_told() {
    let home = home();
    // Once with folders to make: those who fail must not take them from the one who did not.
    for path in ["/shared/one", "/shared/new/folder/one"] {
        let before = home.audit().len();
        let ran = all_at_once(&home, saving(&home, path, false));
        let winners: Vec<_> = (0..PROCESSES).filter(|n| ran[*n].code == Some(0)).collect();
        let [winner] = winners[..] else { panic!("{winners:?} won: {ran:?}") };
        for loser in ran.iter().filter(|ran| ran.code != Some(0)) {
            assert_eq!(loser.error(), "already_exists", "{loser:?}");
        }
        assert!(fs::read(home.host(path)).expect("there") == content(winner));
        let records = &home.audit()[before..];
        let outcomes: Vec<_> = records.iter().filter(|r| r["event"] == "outcome").collect();
        assert_eq!(outcomes.len(), PROCESSES);
        assert_eq!(outcomes.iter().filter(|r| r["code"].is_null()).count(), 1);
        works(&home);
    }
}

#[test]
fn everybody_overwrites_and_the_file_is_always_whole() {
    let home = home();
    saves(&home, "/shared/one", "overwrite=false", &content(0));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !done.load(Ordering::Acquire) {
                let found = fs::read(home.host("/shared/one")).expect("never absent");
                let n = usize::from(found[0] - b'a');
                assert!(found == content(n), "a mixture, or a part");
                reads += 1;
            }
            reads
        });
        let ran = all_at_once(&home, saving(&home, "/shared/one", true));
        done.store(true, Ordering::Release);
        assert!(ran.iter().all(|ran| ran.code == Some(0)), "{ran:?}");
        assert!(reader.join().expect("whole") > 0);
    });
    let records = home.audit();
    let published = |r: &&Value| r["event"] == "outcome" && r["intent"].is_u64() && r["code"].is_null();
    assert_eq!(records.iter().filter(published).count(), PROCESSES + 1);
    works(&home);
}

#[test]
fn different_files_in_one_new_folder() {
    let home = home();
    let files: Vec<_> = (0..PROCESSES).map(|n| home.file(&format!("sent{n}"), &content(n))).collect();
    let paths: Vec<_> = (0..PROCESSES).map(|n| format!("/shared/a/b/c/{n}")).collect();
    let ran = all_at_once(&home, |n| {
        save(&format!("path={}", paths[n]), "overwrite=false", &files[n]).map(str::to_owned).to_vec()
    });
    assert!(ran.iter().all(|ran| ran.code == Some(0)), "{ran:?}");
    for (n, path) in paths.iter().enumerate() {
        assert!(fs::read(home.host(path)).expect("there") == content(n));
    }
    works(&home);
}

#[test]
fn a_start_does_not_clear_away_what_another_stages() {
    if !tracer::available("files::parallel::a_start_does_not_clear_away_what_another_stages") {
        return;
    }
    let scenario = scenario("a_replaced_file_staged_under_a_name");
    let mut met = scenario.base();
    let write = scenario.seen(&met).into_iter().find(|seen| seen.name == "pwrite64").expect("the content");
    met.push(write.meets("delay_enter=700000"));
    let home = scenario.home();
    let traced = tracer::run_beside(&home, &scenario.call(&home), &met, || {
        while home.leftovers().is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        saves(&home, "/shared/beside", "overwrite=true", b"abc");
    });
    assert_eq!(traced.ran.code, Some(0), "{:?}", traced.ran);
    assert!(scenario.is_new(&home));
    works(&home);
}

#[test]
fn a_start_does_not_settle_what_another_is_publishing() {
    if !tracer::available("files::parallel::a_start_does_not_settle_what_another_is_publishing") {
        return;
    }
    let scenario = scenario("a_new_file");
    let link = scenario.seen(&[]).into_iter().find(|seen| seen.name == "linkat").expect("its name");
    let home = scenario.home();
    let traced =
        tracer::run_beside(&home, &scenario.call(&home), &[link.meets("delay_enter=6000000")], || {
            while home.audit().is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            saves(&home, "/shared/beside", "overwrite=true", b"abc");
        });
    assert_eq!(traced.ran.code, Some(0), "{:?}", traced.ran);
    let records = home.audit();
    assert!(records.iter().all(|record| record["reconciled"] != true), "{records:#?}");
    let kinds: Vec<_> = records.iter().map(|r| r["event"].as_str().expect("text")).collect();
    assert_eq!(kinds, ["intent", "intent", "outcome", "outcome"], "the second ran within the first");
    works(&home);
}

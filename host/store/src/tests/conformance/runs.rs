//! Runs of workflows: kept step by step, ended once, taken up where they were.

use super::*;
use std::collections::BTreeSet;

pub(super) fn new(run: &str) -> NewRun {
    NewRun {
        run: run.into(),
        workflow: "w".into(),
        by: Caller { channel: "cli".into(), sender: "1000".into() },
        began_with: "{\"files\":[]}".into(),
        file_sha256: "ab".repeat(32),
        tasks: vec!["one".into(), "two".into()],
        owner: RunOwner::Command,
        answer_to: None,
        answers: false,
    }
}

fn done(output: &str) -> Result<String, String> {
    Ok(output.into())
}

fn failed(error: &str) -> Result<String, String> {
    Err(error.into())
}

async fn states<E: Engine>(fixture: &Fixture<E>, run: &str) -> String {
    let kept = fixture.store.load_run(run).await.expect("it").expect("there");
    let tasks: Vec<_> = kept.tasks.iter().map(|task| task.state.as_str()).collect();
    format!("{}: {}", kept.state.as_str(), tasks.join(" "))
}

pub(super) async fn a_run_goes_on_where_it_was_after_a_crash<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    assert!(store.begin_run(new("w-1"), 9).await.expect("begun"));
    assert!(store.begin_task("w-1", 0).await.expect("begun"));
    assert!(store.end_task("w-1", 0, done("{\"a\":1}")).await.expect("ended"));
    assert!(store.begin_task("w-1", 1).await.expect("begun"));
    let fixture = fixture.restart();
    let store = &fixture.store;
    assert_eq!(states(&fixture, "w-1").await, "running: done running");
    assert!(!store.begin_task("w-1", 0).await.expect("asked"), "what is done is never done again");
    assert!(!store.end_task("w-1", 0, done("other")).await.expect("asked"));
    assert!(store.begin_task("w-1", 1).await.expect("begun once more"));
    assert!(store.end_task("w-1", 1, done("2")).await.expect("ended"));
    assert!(store.end_run("w-1", done("\"out\"")).await.expect("ended"));
    assert!(!store.end_run("w-1", failed("x")).await.expect("asked"), "once");
    assert!(
        !store.cancel_run("w-1", Some(&caller("ann"))).await.expect("asked")
            && !store.reopen_run("w-1").await.expect("asked")
    );
    let fixture = fixture.restart();
    let kept = fixture.store.load_run("w-1").await.expect("it").expect("there");
    assert_eq!(kept.new, new("w-1"));
    assert_eq!((kept.state, kept.output.as_deref(), kept.error), (RunState::Done, Some("\"out\""), None));
    assert_eq!(kept.tasks[0].output.as_deref(), Some("{\"a\":1}"));
    assert_eq!(fixture.store.load_run("w-2").await.expect("it"), None);
    let found = async |name| fixture.store.find_run(name).await.expect("it");
    assert_eq!((found("1").await.as_deref(), found("2").await, found("").await), (Some("w-1"), None, None));
}

pub(super) async fn a_failed_run_is_taken_up_at_its_first_task_that_is_not_done<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    store.begin_run(new("w-1"), 9).await.expect("begun");
    store.begin_task("w-1", 0).await.expect("begun");
    store.end_task("w-1", 0, done("1")).await.expect("ended");
    store.begin_task("w-1", 1).await.expect("begun");
    store.end_task("w-1", 1, failed("{\"code\":\"x\"}")).await.expect("ended");
    assert_eq!(states(&fixture, "w-1").await, "failed: done failed");
    let kept = store.load_run("w-1").await.expect("it").expect("there");
    assert_eq!(
        (kept.error.as_deref(), kept.tasks[1].error.as_deref()),
        (Some("{\"code\":\"x\"}"), Some("{\"code\":\"x\"}"))
    );
    assert!(!store.begin_task("w-1", 1).await.expect("asked"), "it ended");
    assert!(store.reopen_run("w-1").await.expect("reopened"));
    assert_eq!(states(&fixture, "w-1").await, "running: done pending");
    assert!(store.begin_task("w-1", 1).await.expect("begun"));
}

pub(super) async fn of_many_who_end_a_run_at_once_one_does<E: Engine>() {
    let fixture = Fixture::<E>::new();
    fixture.store.begin_run(new("w-1"), 9).await.expect("begun");
    fixture.store.begin_task("w-1", 0).await.expect("begun");
    let ways = (0..8).map(|n| {
        let store = fixture.store.clone();
        tokio::spawn(async move {
            match n % 3 {
                0 => store.cancel_run("w-1", Some(&caller("ann"))).await,
                1 => store.end_run("w-1", done("1")).await,
                _ => store.end_run("w-1", failed("1")).await,
            }
        })
    });
    let mut ended = 0;
    for way in ways.collect::<Vec<_>>() {
        ended += usize::from(way.await.expect("it ends").expect("decided"));
    }
    assert_eq!(ended, 1);
    // What a task came to while its run was ended is kept all the same, unless it failed with it.
    let has_failed = states(&fixture, "w-1").await.starts_with("failed");
    assert_eq!(fixture.store.end_task("w-1", 0, done("2")).await.expect("asked"), !has_failed);
    assert!(
        !fixture.store.begin_task("w-1", 1).await.expect("asked"),
        "nothing begins in a run that has ended"
    );
}

pub(super) async fn what_a_run_is_at_ends_with_it<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let ask = |run: &str| NewApproval {
        id: format!("id of {run}"),
        channel: CHANNEL.into(),
        call: format!("{run}/one/0"),
        sha256: "a".into(),
        place: "here".into(),
        expires_at: now_ms() + 60_000,
    };
    for run in ["w-1", "w-2", "w-10", "w-3"] {
        store.begin_run(new(run), 9).await.expect("begun");
        store.begin_task(run, 0).await.expect("begun");
        let from = "telegram:7".into();
        let wait =
            NewWait { run: run.into(), task: 0, of: None, from, patience: 60_000, is_awaited_later: false };
        store.wait(wait, now_ms()).await.expect("waits");
        store.ask(ask(run)).await.expect("asked");
    }
    assert!(store.end_run("w-1", failed("{\"code\":\"timed_out\"}")).await.expect("ended"));
    assert!(store.cancel_run("w-2", Some(&caller("ann"))).await.expect("cancelled"));
    for (run, stands, approval) in [
        ("w-1", "failed: failed pending", ApprovalState::Withdrawn),
        ("w-2", "cancelled: cancelled pending", ApprovalState::Withdrawn),
        ("w-10", "running: running pending", ApprovalState::Approved),
        ("w-3", "running: running pending", ApprovalState::Approved),
    ] {
        assert_eq!(states(&fixture, run).await, stands);
        let pressed = store.decide(&ask(run).id, ApprovalState::Approved, Some("7".into())).await;
        assert_eq!(pressed.expect("it").map(|row| row.state), Some(approval), "{run}");
    }
    let kept = store.load_run("w-1").await.expect("it").expect("there");
    assert_eq!(kept.tasks[0].error.as_deref(), Some("{\"code\":\"timed_out\"}"));
    assert!(kept.tasks.iter().all(|task| task.waits.is_none()), "{:?}", kept.tasks);
    let listed = store.list_runs().await.expect("listed");
    let waiting: BTreeSet<_> = listed.iter().filter(|run| run.waits).map(|run| run.run.as_str()).collect();
    assert_eq!(waiting, BTreeSet::from(["w-10", "w-3"]));
    // Opened again it asks anew.
    assert!(store.reopen_run("w-1").await.expect("reopened"));
    let (asked, _) = store.ask(NewApproval { id: "again".into(), ..ask("w-1") }).await.expect("asked");
    assert_eq!((asked.id.as_str(), asked.state), ("again", ApprovalState::Asked));
}

pub(super) async fn an_end_is_to_be_noted_until_it_is<E: Engine>() {
    let fixture = Fixture::<E>::new();
    fixture.store.begin_run(new("w-1"), 9).await.expect("begun");
    assert!(fixture.store.cancel_run("w-1", Some(&caller("ann"))).await.expect("cancelled"));
    let fixture = fixture.restart();
    let store = &fixture.store;
    let kept = store.load_run("w-1").await.expect("it").expect("there");
    assert_eq!((kept.ended_by.as_deref(), kept.is_unnoted), (Some("telegram:ann"), true));
    assert!(
        store.load_unnoted_runs(now_ms() - 60_000).await.expect("asked").is_empty(),
        "who ended it is at it"
    );
    assert_eq!(store.load_unnoted_runs(now_ms()).await.expect("asked"), ["w-1"]);
    for run in ["w-2", "w-3"] {
        store.begin_run(new(run), 9).await.expect("begun");
    }
    assert!(store.end_run("w-2", done("1")).await.expect("ended"));
    assert!(store.begin_task("w-3", 0).await.expect("begun"));
    assert!(store.end_task("w-3", 0, Err("{}".into())).await.expect("ended"));
    let unnoted = || async { store.load_unnoted_runs(now_ms()).await.expect("asked") };
    assert_eq!(BTreeSet::from_iter(unnoted().await), ["w-1", "w-2", "w-3"].map(str::to_owned).into());
    for run in ["w-1", "w-2", "w-3"] {
        store.end_noted(run).await.expect("noted");
    }
    assert!(unnoted().await.is_empty());
    assert!(!store.load_run("w-1").await.expect("it").expect("there").is_unnoted);
    // What nobody has wanted is nobody's doing.
    store.begin_run(new("w-4"), 9).await.expect("begun");
    assert!(store.cancel_run("w-4", None).await.expect("cancelled"));
    let kept = store.load_run("w-4").await.expect("it").expect("there");
    assert_eq!((kept.state, kept.ended_by, kept.is_unnoted), (RunState::Cancelled, None, true));
}

pub(super) async fn so_many_runs_are_open_and_no_more<E: Engine>() {
    let fixture = Fixture::<E>::new();
    for (run, begins) in [("w-1", true), ("w-2", true), ("w-3", false)] {
        assert_eq!(fixture.store.begin_run(new(run), 2).await.expect("asked"), begins, "{run}");
    }
    assert!(fixture.store.cancel_run("w-1", Some(&caller("ann"))).await.expect("cancelled"));
    assert!(fixture.store.begin_run(new("w-3"), 2).await.expect("begun"));
    let listed: Vec<_> =
        fixture.store.list_runs().await.expect("listed").into_iter().map(|run| run.run).collect();
    assert_eq!(listed, ["w-3", "w-2", "w-1"]);
    fixture.store.prune(much_later()).await.expect("pruned");
    assert!(fixture.store.load_run("w-1").await.expect("it").is_some(), "its end is to be noted");
    fixture.store.end_noted("w-1").await.expect("noted");
    fixture.store.prune(much_later()).await.expect("pruned");
    assert_eq!(fixture.store.load_run("w-1").await.expect("it"), None, "by age");
    assert!(fixture.store.load_run("w-2").await.expect("it").is_some(), "what is open stays");
}

pub(super) async fn so_many_runs_are_listed_and_no_more<E: Engine>() {
    let fixture = Fixture::<E>::new();
    for n in 0..=RUNS_LISTED_MAX {
        assert!(fixture.store.begin_run(new(&format!("w-{n}")), u32::MAX).await.expect("asked"));
    }
    let listed = fixture.store.list_runs().await.expect("listed");
    assert_eq!(
        (listed.len(), listed[0].run.as_str()),
        (RUNS_LISTED_MAX as usize, format!("w-{RUNS_LISTED_MAX}").as_str())
    );
}

/// What somebody does to a run.
#[derive(Clone, Copy, Debug)]
enum Step {
    Begin(usize),
    Done(usize),
    Fail(usize),
    HandOver,
    End,
    Cancel,
    Noted,
    Reopen,
}

/// Does it; whether it counts.
async fn take(store: &Store, run: &str, step: Step) -> bool {
    let taken = match step {
        Step::Begin(task) => store.begin_task(run, task).await,
        Step::Done(task) => store.end_task(run, task, done("1")).await,
        Step::Fail(task) => store.end_task(run, task, failed("{}")).await,
        Step::HandOver => store.hand_over_run(run).await,
        Step::End => store.end_run(run, done("2")).await,
        Step::Cancel => store.cancel_run(run, Some(&caller("ann"))).await,
        Step::Noted => store.end_noted(run).await.map(|()| true),
        Step::Reopen => store.reopen_run(run).await,
    };
    taken.expect("asked")
}

/// Each step of one of two runs that stand alike, and how it stands then.
pub(super) async fn what_is_done_to_a_run_leaves_another_one_as_it_is<E: Engine>() {
    use Step::{Begin, Cancel, Done, End, Fail, HandOver, Noted, Reopen};
    for steps in [
        &[
            (Begin(0), "running: running pending"),
            (Done(0), "running: done pending"),
            (Begin(1), "running: done running"),
            (Fail(1), "failed: done failed"),
            (Reopen, "running: done pending"),
            (Begin(1), "running: done running"),
            (HandOver, "running: done running"),
            (Done(1), "running: done done"),
            (End, "done: done done"),
        ][..],
        &[
            (Begin(0), "running: running pending"),
            (Done(0), "running: done pending"),
            (Begin(1), "running: done running"),
            (Cancel, "cancelled: done cancelled"),
            (Noted, "cancelled: done cancelled"),
        ],
        &[(Begin(0), "running: running pending"), (Cancel, "cancelled: cancelled pending")],
    ] {
        let fixture = Fixture::<E>::new();
        let kept = async |run: &str| fixture.store.load_run(run).await.expect("asked").expect("there");
        for run in ["w-1", "w-2"] {
            assert!(fixture.store.begin_run(new(run), 9).await.expect("begun"));
        }
        for (step, stands) in steps {
            let other = kept("w-2").await;
            assert!(take(&fixture.store, "w-1", *step).await, "{step:?}");
            assert_eq!(
                (states(&fixture, "w-1").await.as_str(), kept("w-2").await),
                (*stands, other),
                "{step:?}"
            );
            assert!(take(&fixture.store, "w-2", *step).await, "{step:?}");
            assert_eq!(states(&fixture, "w-2").await, *stands, "{step:?}");
        }
    }
}

/// What comes too late changes nothing, whatever else is open.
pub(super) async fn what_has_ended_stays_as_it_ended<E: Engine>() {
    use Step::{Begin, Cancel, Done, End, Fail, HandOver, Reopen};
    for (ends, late) in [
        (
            &[Begin(0), Done(0), End][..],
            &[Begin(0), Begin(1), Done(0), Fail(0), HandOver, Cancel, End, Reopen][..],
        ),
        (&[Begin(0), Fail(0)], &[Begin(0), Begin(1), Done(0), HandOver, Cancel, End]),
        (
            &[Begin(0), Done(0), Cancel],
            &[Begin(0), Begin(1), Done(0), Done(1), Fail(1), HandOver, Cancel, End, Reopen],
        ),
    ] {
        let fixture = Fixture::<E>::new();
        let kept = async || fixture.store.load_run("w-1").await.expect("asked").expect("there");
        for run in ["w-0", "w-1", "w-2"] {
            assert!(fixture.store.begin_run(new(run), 9).await.expect("begun"));
        }
        for step in ends {
            assert!(take(&fixture.store, "w-1", *step).await, "{step:?}");
        }
        let ended = kept().await;
        for step in late {
            assert!(!take(&fixture.store, "w-1", *step).await, "{step:?} of {ended:?}");
            assert_eq!(kept().await, ended, "{step:?}");
        }
    }
    // A task whose run somebody ended meanwhile fails for itself alone.
    let fixture = Fixture::<E>::new();
    fixture.store.begin_run(new("w-1"), 9).await.expect("begun");
    for step in [Begin(0), Cancel, Fail(0)] {
        assert!(take(&fixture.store, "w-1", step).await, "{step:?}");
    }
    assert_eq!(states(&fixture, "w-1").await, "cancelled: failed pending");
}

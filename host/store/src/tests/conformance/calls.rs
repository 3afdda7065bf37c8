//! What side-effecting calls did.

use super::*;
use cofferdam_core::journal::JournalError;
use cofferdam_core::message::Delivery;

pub(super) async fn a_call_is_remembered_with_its_arguments<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let answer = answer(vec![file("ab")]);
    let known = |fixture: &Fixture<E>, hash: &str| {
        fixture.store.load_earlier("t/0", hash).map(|earlier| earlier.answer)
    };
    assert_eq!(known(&fixture, "h"), Ok(None));
    fixture.store.record("t/0", "h", &answer, 0).expect("recorded");
    let fixture = fixture.restart();
    assert_eq!(known(&fixture, "h"), Ok(Some(answer)));
    assert_eq!(known(&fixture, "other"), Ok(None));
    let call = TurnId::new("t").call(0);
    for (hash, expected) in [("h", true), ("other", false)] {
        assert_eq!(fixture.store.is_call_recorded(&call, hash).await.expect("known"), expected, "{hash}");
    }
    fixture.store.record("t/0", "other", &json!(1).into(), 0).expect("recorded");
    assert_eq!(known(&fixture, "other"), Ok(Some(json!(1).into())));
}

pub(super) async fn what_a_turn_has_written_is_known_after_a_restart<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let written =
        |fixture: &Fixture<E>, call: &str| fixture.store.load_earlier(call, "h").expect("it").written_bytes;
    let writes =
        |call: &str, bytes| fixture.store.record(call, "h", &json!({}).into(), bytes).expect("recorded");
    writes("t/0", 100);
    writes("t/1", 20);
    writes("other/0", 5000);
    // A call that runs again after a crash is counted once: its own bytes do not stand in its way.
    writes("t/1", 30);
    let fixture = fixture.restart();
    assert_eq!(
        (written(&fixture, "t/0"), written(&fixture, "t/1"), written(&fixture, "t/2")),
        (30, 100, 130)
    );
    assert_eq!(written(&fixture, "new/0"), 0);
}

pub(super) async fn written_bytes_are_charged_to_whose_turn_it_is_and_once<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let writes =
        |call: &str, bytes| fixture.store.record(call, "h", &json!({}).into(), bytes).expect("recorded");
    writes("nobodys/0", 7);
    fixture.store.attempt(&TurnId::new("t"), &caller("ann")).await.expect("noted");
    writes("t/0", 100);
    writes("t/1", 50);
    // Again after a crash, and then with less.
    writes("t/1", 50);
    writes("t/0", 40);
    assert_eq!(fixture.used("ann").await, (0, 90));
    // A task of a run is no turn of somebody's: who began the run pays.
    let run = super::runs::new("w-1");
    let by = run.by.clone();
    assert!(fixture.store.begin_run(run, 9).await.expect("begun"));
    writes("w-1/one/0", 60);
    writes("w-1/two/0", 4);
    writes("w-1/two/0", 4);
    assert_eq!(fixture.store.load_usage(&by, now_ms()).await.expect("known").written_bytes, 64);
}

pub(super) async fn calls_that_end_at_once_write_no_more_than_a_day_allows<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = fixture.store.with_day_budget(ByteSize(100));
    store.attempt(&TurnId::new("t"), &caller("ann")).await.expect("noted");
    store.attempt(&TurnId::new("u"), &caller("ben")).await.expect("noted");
    let mut recording = tokio::task::JoinSet::new();
    for n in 0..8 {
        let store = store.clone();
        recording.spawn_blocking(move || store.record(&format!("t/{n}"), "h", &json!({}).into(), 30));
    }
    let over = Err(JournalError::OverDayBudget(ByteSize(100)));
    let mut recorded = 0;
    while let Some(ended) = recording.join_next().await {
        let ended = ended.expect("no panic");
        assert!(ended.is_ok() || ended == over, "{ended:?}");
        recorded += usize::from(ended.is_ok());
    }
    assert_eq!((recorded, fixture.used("ann").await), (3, (0, 90)));
    let writes = |call: &str, bytes| store.record(call, "h", &json!({}).into(), bytes);
    assert_eq!(writes("t/8", 11), over);
    assert_eq!(store.load_earlier("t/8", "h").expect("it").answer, None, "it has not happened");
    // What is left fits, again after a crash and with less as well.
    for bytes in [10, 10, 4] {
        assert_eq!(writes("t/8", bytes), Ok(()));
    }
    // The first call of somebody's day may be too large, too.
    assert_eq!((writes("u/0", 101), writes("u/0", 100)), (over, Ok(())));
}

pub(super) async fn what_an_open_turn_has_behind_it_is_kept_at_any_age<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let (turn, other) = (fixture.bound(1).await, fixture.bound(2).await);
    let (mine, others) = (turn.call(0), other.call(0));
    let delivery = |to: &TurnId| Delivery { request: to.clone(), attachments: vec![file("a")] };
    fixture.store.attempt(&turn, &caller("ann")).await.expect("noted");
    fixture.store.record(mine.as_str(), "h", &json!({}).into(), 5).expect("recorded");
    fixture.store.deliver(mine.as_str(), &delivery(&other)).expect("handed over");
    fixture.store.deliver(others.as_str(), &delivery(&turn)).expect("handed over");
    fixture.says("s", turn.as_str(), 0, "said").await;
    fixture.store.end(CHANNEL, &other, text_reply(&[])).await.expect("ended");
    let kept = async |fixture: &Fixture<E>| {
        let store = &fixture.store;
        store.prune(much_later()).await.expect("it");
        let begun = store.load_attempt(&turn).await.expect("it").is_some();
        let answered = store.load_earlier(mine.as_str(), "h").expect("it").answer.is_some();
        let delivered = [&mine, &others].map(|call| store.is_delivered(call.as_str()).expect("it"));
        (begun, answered, delivered, fixture.said("s", "t").await)
    };
    let fixture = fixture.restart();
    assert_eq!(kept(&fixture).await, (true, true, [true, true], "telegram-1-1:said".into()));
    fixture.store.end(CHANNEL, &turn, text_reply(&[])).await.expect("ended");
    assert_eq!(kept(&fixture).await, (false, false, [false, false], String::new()));
}

pub(super) async fn what_a_task_of_an_open_run_has_behind_it_is_kept_at_any_age<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    assert!(store.begin_run(super::runs::new("w-1"), 9).await.expect("begun"));
    assert!(store.begin_task("w-1", 0).await.expect("begun"));
    // The second run is gone.
    for turn in ["w-1/one", "w-0/one"] {
        let call = format!("{turn}/0");
        store.record(&call, "h", &answer(vec![file(turn)]), 5).expect("recorded");
        store
            .deliver(&call, &Delivery { request: TurnId::new(turn), attachments: Vec::new() })
            .expect("handed over");
        fixture.says("s", turn, 0, "said").await;
    }
    let kept = async |turn: &str| {
        let call = format!("{turn}/0");
        let answered = store.load_earlier(&call, "h").expect("it").answer.is_some();
        let holds = store.blobs_in_use().expect("it").contains(turn);
        [answered, holds, store.is_delivered(&call).expect("it"), fixture.said("s", "").await.contains(turn)]
    };
    store.prune(much_later()).await.expect("it");
    assert_eq!((kept("w-1/one").await, kept("w-0/one").await), ([true; 4], [false; 4]));
    assert!(store.end_task("w-1", 0, Ok("1".into())).await.expect("ended"));
    store.prune(much_later()).await.expect("it");
    assert_eq!(kept("w-1/one").await, [false; 4], "it is done");
}

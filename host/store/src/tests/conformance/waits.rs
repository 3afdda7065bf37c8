//! What runs say to people and wait for: of a reply, a timeout and an end one counts.

use super::*;
use std::collections::BTreeSet;

pub(super) const HOUR: i64 = 3_600_000;

pub(super) fn run(id: &str) -> NewRun {
    NewRun {
        owner: RunOwner::Serve,
        answer_to: Some(AnswerTo { channel: CHANNEL.into(), target: "there".into() }),
        ..runs::new(id)
    }
}

pub(super) fn message(id: &str) -> NewMessage {
    NewMessage {
        run: id.into(),
        task: 0,
        channel: CHANNEL.into(),
        recipient: "ben".into(),
        texts: vec![plain_letters("When is it?")],
        is_awaited: true,
        telling: NewTelling {
            turn: TurnId::new(format!("{id}/ask")),
            reply: reply(),
            files: Vec::new(),
            place: None,
        },
    }
}

pub(super) fn reply() -> NewReply {
    NewReply {
        target: "ben".into(),
        parts: vec![NewPart { kind: PartKind::Text, body: "When is it?".into() }],
    }
}

pub(super) fn wait(id: &str) -> NewWait {
    NewWait {
        run: id.into(),
        task: 1,
        of: Some(0),
        from: "paper:ben".into(),
        patience: HOUR,
        is_awaited_later: false,
    }
}

/// A message that replies to another one.
pub(in crate::tests) fn answering(update_id: i64, sender: &str, message: &str, text: &str) -> NewUpdate {
    let answers = WaitReply {
        message: message.into(),
        text: text.into(),
        reply: format!("{{\"n\":{update_id}}}"),
        files: None,
    };
    let headers = Headers { answers: Some(answers), ..headers("s", sender, QueueMode::Turn) };
    NewUpdate { fate: UpdateFate::Pending(headers), ..new(update_id, None) }
}

/// A run whose message is out as 77, and that waits.
pub(in crate::tests) async fn waiting<E: Engine>(id: &str) -> Fixture<E> {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    assert!(store.begin_run(run(id), 9).await.expect("begun"));
    store.begin_task(id, 0).await.expect("begun");
    let kept = store.keep_message(message(id)).await.expect("kept").expect("the first time");
    assert_eq!(store.load_send_state(&kept.turn).await.expect("asked"), SendState::NotYet);
    assert_eq!(store.keep_message(message(id)).await.expect("asked"), None, "kept once");
    store.mark_part_sent(&kept.turn, 0, "77").await.expect("noted");
    assert_eq!(store.load_send_state(&kept.turn).await.expect("asked"), SendState::Out(vec!["77".into()]));
    store.end_task(id, 0, Ok("{}".into())).await.expect("ended");
    store.begin_task(id, 1).await.expect("begun");
    let began = store.wait(wait(id), now_ms()).await.expect("waits");
    assert!(matches!(began, WaitState::Open { begins: true, .. }), "{began:?}");
    fixture
}

pub(super) async fn pending<E: Engine>(fixture: &Fixture<E>) -> Vec<i64> {
    ids(&fixture.store.pending(CHANNEL, None, 9).await.expect("it"))
}

pub(super) async fn a_reply_resolves_a_wait_once_and_is_answered_by_nobody<E: Engine>() {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    assert!(store.runs_to_go_on(now_ms(), HOUR).await.expect("asked").runs.is_empty(), "it waits");
    assert_eq!(store.runs_in_calls().await.expect("asked"), BTreeSet::new(), "for nothing else");
    let of_others = [answering(1, "eve", "77", "When is it?"), answering(2, "ben", "78", "Another")];
    store.persist(CHANNEL, of_others.to_vec()).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1, 2]);
    store.persist(CHANNEL, vec![answering(3, "ben", "77", "When is it?")]).await.expect("kept");
    assert_eq!(store.runs_to_go_on(now_ms(), HOUR).await.expect("asked").runs, ["w-1"]);
    assert_eq!(store.runs_in_calls().await.expect("asked"), BTreeSet::from(["w-1".to_owned()]));
    let fixture = fixture.restart();
    let store = &fixture.store;
    let again = [answering(3, "ben", "77", "When is it?"), answering(4, "ben", "77", "When is it?")];
    store.persist(CHANNEL, again.to_vec()).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1, 2, 4], "a second one is an ordinary message");
    let resolved = store.wait(wait("w-1"), now_ms() + 2 * HOUR).await.expect("asked");
    assert_eq!(resolved, WaitState::Replied("{\"n\":3}".into()), "before its time was over");
}

pub(super) async fn a_reply_counts_before_the_id_of_its_message_is_noted<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    store.begin_run(run("w-1"), 9).await.expect("begun");
    store.begin_task("w-1", 0).await.expect("begun");
    store.keep_message(message("w-1")).await.expect("kept").expect("the first time");
    let other = answering(1, "ben", "76", "Something else");
    // Written as the platform shows it.
    let early = answering(2, "ben", "77", " When\\ is it? ");
    store.persist(CHANNEL, vec![other, early]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1]);
    store.end_task("w-1", 0, Ok("{}".into())).await.expect("ended");
    store.begin_task("w-1", 1).await.expect("begun");
    assert_eq!(
        store.wait(wait("w-1"), now_ms()).await.expect("asked"),
        WaitState::Replied("{\"n\":2}".into())
    );
}

pub(super) async fn the_same_words_in_another_message_are_not_the_message<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let said =
        store.tell(CHANNEL, &TurnId::new("t-1"), reply()).await.expect("kept").expect("the first time");
    store.mark_part_sent(&said.turn, 0, "76").await.expect("noted");
    store.begin_run(run("w-1"), 9).await.expect("begun");
    store.keep_message(message("w-1")).await.expect("kept").expect("the first time");
    store.persist(CHANNEL, vec![answering(1, "ben", "76", "When is it?")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1]);
    store.persist(CHANNEL, vec![answering(2, "ben", "77", "When is it?")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1], "a copy of it");
}

pub(super) async fn an_album_is_one_reply_once_all_of_it_has_come<E: Engine>() {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    let part = |update_id: i64, text: &str| {
        let answers = WaitReply {
            message: "77".into(),
            text: "When is it?".into(),
            reply: json!({ "text": text, "files": [update_id] }).to_string(),
            files: Some(format!("[{update_id}]")),
        };
        let headers = Headers { answers: Some(answers), ..headers("s", "ben", QueueMode::Turn) };
        NewUpdate { fate: UpdateFate::Pending(headers), ..new(update_id, Some("a")) }
    };
    let now = now_ms();
    for (update_id, text) in [(1, ""), (2, "noon"), (3, "or later")] {
        store.persist(CHANNEL, vec![part(update_id, text)]).await.expect("kept");
        assert!(store.runs_to_go_on(now, HOUR).await.expect("asked").runs.is_empty(), "more may come");
        let still = store.wait(wait("w-1"), now).await.expect("asked");
        assert!(matches!(still, WaitState::Open { begins: false, .. }), "{still:?}");
    }
    assert_eq!(pending(&fixture).await, [0_i64; 0]);
    let later = now_ms() + 2_000;
    assert_eq!(store.runs_to_go_on(later, HOUR).await.expect("asked").runs, ["w-1"]);
    // The clock was an hour ahead when the last part came.
    store.shift_waits(HOUR).await.expect("shifted");
    store.bound_waits(now).await.expect("bounded");
    let all = WaitState::Replied(json!({ "text": "noon", "files": [1, 2, 3] }).to_string());
    assert_eq!(store.wait(wait("w-1"), now + 2_000).await.expect("asked"), all);
    let files = store.files_of_reply("w-1", 0).await.expect("asked");
    assert_eq!(files, Some((CHANNEL.into(), "[1,2,3]".into())));
    // What comes once the run goes on would be read by nobody there.
    store.persist(CHANNEL, vec![part(4, "too late")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [4], "a message of its own");
    assert_eq!(store.wait(wait("w-1"), now + 2_000).await.expect("asked"), all, "also after a crash");
    store.end_task("w-1", 1, Ok("{}".into())).await.expect("ended");
    store.persist(CHANNEL, vec![part(5, "too late")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [4, 5]);
    let claimed = store.claim(CHANNEL, UpdateClaim::Album("a".into())).await.expect("it");
    assert_eq!(ids(&claimed.expect("bound").updates), [4, 5], "the others are the run's");

    // It begins when its time is over, and before anybody has looked.
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    store.shift_waits(-2 * HOUR).await.expect("shifted");
    store.persist(CHANNEL, vec![part(1, "noon")]).await.expect("kept");
    let resolved = store.wait(wait("w-1"), now_ms() + 2_000).await.expect("asked");
    assert!(matches!(resolved, WaitState::Replied(_)), "{resolved:?}");
    store.persist(CHANNEL, vec![part(2, "too late")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [2], "the task has what it came to");
    store.end_task("w-1", 1, Ok("{}".into())).await.expect("ended");
    store.persist(CHANNEL, vec![part(3, "later still")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [2, 3]);
}

pub(super) async fn of_a_reply_a_timeout_and_an_end_one_counts<E: Engine>() {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    let later = now_ms() + 2 * HOUR;
    assert_eq!(store.runs_to_go_on(later, 9 * HOUR).await.expect("asked").runs, ["w-1"], "its time is over");
    assert_eq!(store.wait(wait("w-1"), later).await.expect("asked"), WaitState::TimedOut);
    store.persist(CHANNEL, vec![answering(1, "ben", "77", "When is it?")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1], "too late");

    let fixture = several::two::<E>().await;
    assert!(fixture.store.cancel_run("w-2", Some(&caller("ann"))).await.expect("cancelled"));
    fixture.store.persist(CHANNEL, vec![answering(1, "ben", "78", "When is it?")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1], "nobody waits");
    let mut more = NewMessage { task: 1, ..message("w-2") };
    more.telling.turn = TurnId::new("w-2/more");
    assert_eq!(fixture.store.keep_message(more).await.expect("asked"), None, "it says nothing more");
}

pub(super) async fn a_wait_follows_a_clock_that_is_set<E: Engine>() {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    let until = async || {
        let kept = store.load_run("w-1").await.expect("it").expect("there");
        kept.tasks[1].waits.clone().expect("it waits").until
    };
    let before = until().await;
    store.shift_waits(24 * HOUR).await.expect("shifted");
    assert_eq!(until().await, before + 24 * HOUR);
    let now = now_ms();
    store.bound_waits(now).await.expect("bounded");
    assert_eq!(until().await, now + HOUR, "no longer than it may in all");
}

pub(super) async fn the_end_of_a_run_is_told_once_where_that_was_promised<E: Engine>() {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    let to = run("w-1").answer_to.expect("somewhere");
    assert!(store.acknowledge_run("w-1").await.expect("asked"));
    assert!(store.load_unanswered_runs().await.expect("asked").is_empty(), "it goes on");
    assert!(store.end_run("w-1", Ok("1".into())).await.expect("ended"));
    let fixture = fixture.restart();
    let store = &fixture.store;
    assert_eq!(store.load_unanswered_runs().await.expect("asked"), ["w-1"]);
    assert!(store.answer_run("w-1", to.clone(), reply()).await.expect("told").is_some());
    assert_eq!(store.answer_run("w-1", to.clone(), reply()).await.expect("asked"), None);
    assert!(store.load_unanswered_runs().await.expect("asked").is_empty());
    // Or to nobody.
    store.begin_run(run("w-4"), 9).await.expect("begun");
    assert!(store.acknowledge_run("w-4").await.expect("asked"));
    store.leave_unanswered("w-4").await.expect("noted");
    assert!(store.end_run("w-4", Ok("1".into())).await.expect("ended"));
    assert_eq!(store.load_unanswered_runs().await.expect("asked"), ["w-4"], "it had not ended before");
    store.leave_unanswered("w-4").await.expect("noted");
    assert!(store.load_unanswered_runs().await.expect("asked").is_empty());
    assert_eq!(store.answer_run("w-4", to, reply()).await.expect("asked"), None);
    // What ends before it was promised is answered by anyone who asked.
    store.begin_run(run("w-2"), 9).await.expect("begun");
    assert!(store.end_run("w-2", Ok("1".into())).await.expect("ended"));
    assert!(!store.acknowledge_run("w-2").await.expect("asked"));
    assert!(store.load_unanswered_runs().await.expect("asked").is_empty());
    // A run of a command is nobody else's until it is handed over.
    store.begin_run(runs::new("w-3"), 9).await.expect("begun");
    assert!(store.begin_task("w-3", 0).await.expect("asked"));
    assert_eq!(store.runs_in_calls().await.expect("asked"), BTreeSet::new());
    assert!(store.runs_to_go_on(now_ms(), HOUR).await.expect("asked").runs.is_empty());
    assert!(store.hand_over_run("w-3").await.expect("asked"));
    assert_eq!(store.runs_to_go_on(now_ms(), HOUR).await.expect("asked").runs, ["w-3"]);
    assert_eq!(store.runs_in_calls().await.expect("asked"), BTreeSet::from(["w-3".to_owned()]));
    // What a task itself asks somebody is no call.
    let asked = NewWait { task: 0, of: None, ..wait("w-3") };
    assert!(matches!(
        store.wait(asked, now_ms()).await.expect("waits"),
        WaitState::Open { begins: true, .. }
    ));
    assert_eq!(store.runs_in_calls().await.expect("asked"), BTreeSet::new());
}

pub(super) async fn times_follow_the_clock_of_what_waits_in_serve_alone<E: Engine>() {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    store.begin_run(runs::new("w-2"), 9).await.expect("begun");
    store.begin_run(run("w-3"), 9).await.expect("begun");
    assert!(store.end_run("w-3", Ok("1".into())).await.expect("ended"));
    let kept = async |id: &str| store.load_run(id).await.expect("asked").expect("there");
    let (of_command, ended, waiting) = (kept("w-2").await, kept("w-3").await, kept("w-1").await);
    store.shift_waits(HOUR).await.expect("shifted");
    assert_eq!(kept("w-1").await.began_at, waiting.began_at + HOUR);
    assert_eq!((kept("w-2").await, kept("w-3").await), (of_command, ended), "nobody waits there");
    // What waits for less than it may is left alone.
    store.shift_waits(-2 * HOUR).await.expect("shifted");
    let before = kept("w-1").await;
    store.bound_waits(before.began_at + HOUR).await.expect("bounded");
    assert_eq!(kept("w-1").await, before);
    // Nor is what has ended.
    let ended = kept("w-3").await;
    store.bound_waits(ended.began_at - HOUR).await.expect("bounded");
    assert_eq!(kept("w-3").await, ended);
}

pub(super) async fn schedules_are_looked_at_one_by_one<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    for of in [("daily", "0 0 * * *"), ("daily-2", "0 0 * * *"), ("weekly", "0 0 * * 1")] {
        assert_eq!(store.begin_schedule_check(of, 100).await.expect("asked"), 100);
    }
    store.end_schedule_check(("daily", "0 0 * * *"), 200).await.expect("noted");
    let fixture = fixture.restart();
    let looked = async |of| fixture.store.begin_schedule_check(of, 300).await.expect("asked");
    assert_eq!(looked(("daily", "0 0 * * *")).await, 200);
    // Times that its file names now have not been missed before, no matter what it named then.
    assert_eq!(looked(("daily", "0 14 * * *")).await, 300);
    assert_eq!(looked(("daily", "0 0 * * *")).await, 300, "named anew");
    assert_eq!((looked(("daily-2", "0 0 * * *")).await, looked(("weekly", "0 0 * * 1")).await), (100, 100));
    // One that no file names for a while has missed nothing meanwhile.
    let named = [("daily", "0 0 * * *"), ("daily-2", "0 0 * * *")];
    fixture.store.forget_schedules_but(&named).await.expect("forgotten");
    assert_eq!((looked(("daily-2", "0 0 * * *")).await, looked(("weekly", "0 0 * * 1")).await), (100, 300));
}

/// Of these the times of the file were not known.
pub(super) async fn a_schedule_of_an_earlier_release_goes_on_where_it_was<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let earlier = "INSERT INTO run_schedule (workflow, looked_at) VALUES ('daily', 50)";
    store.write(move |tx| tx.run(earlier, crate::value::params![])).await.expect("kept");
    let of = ("daily", "0 0 * * *");
    store.forget_schedules_but(&[of]).await.expect("there are no others");
    assert_eq!(store.begin_schedule_check(of, 300).await.expect("asked"), 50);
    store.end_schedule_check(of, 200).await.expect("noted");
    assert_eq!(store.begin_schedule_check(of, 300).await.expect("asked"), 200);
    assert_eq!(store.begin_schedule_check(("daily", "0 14 * * *"), 300).await.expect("asked"), 300, "once");
}

pub(super) async fn a_clock_that_was_far_ahead_silences_no_schedule<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let of = ("daily", "0 0 * * *");
    let now = now_ms();
    let looked = async || store.begin_schedule_check(of, now).await.expect("asked");
    assert_eq!(looked().await, now);
    store.end_schedule_check(of, now + 9_000 * HOUR).await.expect("noted");
    store.bound_waits(now - HOUR).await.expect("bounded");
    assert_eq!(looked().await, now - HOUR);
    store.end_schedule_check(of, now + 9_000 * HOUR).await.expect("noted");
    store.shift_waits(-9_000 * HOUR).await.expect("shifted");
    let after = looked().await;
    assert!((now..=now_ms()).contains(&after), "{after}");
    // What it has behind it stays so.
    store.end_schedule_check(of, 100).await.expect("noted");
    store.shift_waits(HOUR).await.expect("shifted");
    store.bound_waits(now).await.expect("bounded");
    assert_eq!(looked().await, 100);
}

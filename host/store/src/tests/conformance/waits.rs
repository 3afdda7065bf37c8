//! What runs say to people and wait for: of a reply, a timeout and an end one counts.

use super::*;

const HOUR: i64 = 3_600_000;

fn run(id: &str) -> NewRun {
    NewRun {
        owner: Owner::Serve,
        answer_to: Some(AnswerTo { channel: CHANNEL.into(), target: "there".into() }),
        ..runs::new(id)
    }
}

fn message(id: &str) -> NewMessage {
    NewMessage {
        run: id.into(),
        task: 0,
        channel: CHANNEL.into(),
        recipient: "ben".into(),
        turn: TurnId::new(format!("{id}/ask")),
        texts: vec![plain("When is it?")],
        is_awaited: true,
        reply: reply(),
        files: Vec::new(),
        place: None,
    }
}

fn reply() -> NewReply {
    NewReply {
        target: "ben".into(),
        parts: vec![NewPart { kind: PartKind::Text, body: "When is it?".into() }],
    }
}

fn wait(id: &str) -> NewWait {
    NewWait { run: id.into(), task: 1, of: Some(0), from: "paper:ben".into(), patience: HOUR }
}

/// A message that replies to another one.
fn answering(update_id: i64, sender: &str, message: &str, text: &str) -> NewUpdate {
    let answers = Answers {
        message: message.into(),
        text: text.into(),
        reply: format!("{{\"n\":{update_id}}}"),
        files: None,
    };
    let headers = Headers { answers: Some(answers), ..headers("s", sender, Queue::Turn) };
    NewUpdate { fate: Fate::Pending(headers), ..new(update_id, None) }
}

/// A run whose message is out as 77, and that waits.
pub(in crate::tests) async fn waiting<E: Engine>(id: &str) -> Fixture<E> {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    assert!(store.begin_run(run(id), 9).await.expect("begun"));
    store.begin_task(id, 0).await.expect("begun");
    let kept = store.keep_message(message(id)).await.expect("kept").expect("the first time");
    assert_eq!(store.message_sent(&kept.turn).await.expect("asked"), Sent::NotYet);
    assert_eq!(store.keep_message(message(id)).await.expect("asked"), None, "kept once");
    store.part_sent(&kept.turn, 0, "77").await.expect("noted");
    assert_eq!(store.message_sent(&kept.turn).await.expect("asked"), Sent::Out(vec!["77".into()]));
    store.end_task(id, 0, Ended::Done("{}".into())).await.expect("ended");
    store.begin_task(id, 1).await.expect("begun");
    let began = store.wait(wait(id), now_ms()).await.expect("waits");
    assert!(matches!(began, Waited::Open { begins: true, .. }), "{began:?}");
    fixture
}

async fn pending<E: Engine>(fixture: &Fixture<E>) -> Vec<i64> {
    ids(&fixture.store.pending(CHANNEL, None, 9).await.expect("it"))
}

pub(super) async fn a_reply_resolves_a_wait_once_and_is_answered_by_nobody<E: Engine>() {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    assert!(store.runs_to_go_on(now_ms(), HOUR).await.expect("asked").is_empty(), "it waits");
    let of_others = [answering(1, "eve", "77", "When is it?"), answering(2, "ben", "78", "Another")];
    store.persist(CHANNEL, of_others.to_vec()).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1, 2]);
    store.persist(CHANNEL, vec![answering(3, "ben", "77", "When is it?")]).await.expect("kept");
    assert_eq!(store.runs_to_go_on(now_ms(), HOUR).await.expect("asked"), ["w-1"]);
    let fixture = fixture.restart();
    let store = &fixture.store;
    let again = [answering(3, "ben", "77", "When is it?"), answering(4, "ben", "77", "When is it?")];
    store.persist(CHANNEL, again.to_vec()).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1, 2, 4], "a second one is an ordinary message");
    let resolved = store.wait(wait("w-1"), now_ms() + 2 * HOUR).await.expect("asked");
    assert_eq!(resolved, Waited::Replied("{\"n\":3}".into()), "before its time was over");
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
    store.end_task("w-1", 0, Ended::Done("{}".into())).await.expect("ended");
    store.begin_task("w-1", 1).await.expect("begun");
    assert_eq!(store.wait(wait("w-1"), now_ms()).await.expect("asked"), Waited::Replied("{\"n\":2}".into()));
}

pub(super) async fn the_same_words_in_another_message_are_not_the_message<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let said =
        store.tell(CHANNEL, &TurnId::new("t-1"), reply()).await.expect("kept").expect("the first time");
    store.part_sent(&said.turn, 0, "76").await.expect("noted");
    store.begin_run(run("w-1"), 9).await.expect("begun");
    store.keep_message(message("w-1")).await.expect("kept").expect("the first time");
    store.persist(CHANNEL, vec![answering(1, "ben", "76", "When is it?")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1]);
    store.persist(CHANNEL, vec![answering(2, "ben", "77", "When is it?")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1], "a copy of it");
}

pub(super) async fn of_a_reply_a_timeout_and_an_end_one_counts<E: Engine>() {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    let later = now_ms() + 2 * HOUR;
    assert_eq!(store.runs_to_go_on(later, 9 * HOUR).await.expect("asked"), ["w-1"], "its time is over");
    assert_eq!(store.wait(wait("w-1"), later).await.expect("asked"), Waited::TimedOut);
    store.persist(CHANNEL, vec![answering(1, "ben", "77", "When is it?")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1], "too late");

    let fixture = two::<E>().await;
    assert!(fixture.store.cancel_run("w-2", &caller("ann")).await.expect("cancelled"));
    fixture.store.persist(CHANNEL, vec![answering(1, "ben", "78", "When is it?")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1], "nobody waits");
    let more = NewMessage { task: 1, turn: TurnId::new("w-2/more"), ..message("w-2") };
    assert_eq!(fixture.store.keep_message(more).await.expect("asked"), None, "it says nothing more");
}

pub(super) async fn a_wait_follows_a_clock_that_is_set<E: Engine>() {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    let until = async || {
        let kept = store.kept_run("w-1").await.expect("it").expect("there");
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
    assert!(store.unanswered_runs().await.expect("asked").is_empty(), "it goes on");
    assert!(store.end_run("w-1", Ended::Done("1".into())).await.expect("ended"));
    let fixture = fixture.restart();
    let store = &fixture.store;
    assert_eq!(store.unanswered_runs().await.expect("asked"), ["w-1"]);
    assert!(store.answer_run("w-1", to.clone(), reply()).await.expect("told").is_some());
    assert_eq!(store.answer_run("w-1", to.clone(), reply()).await.expect("asked"), None);
    assert!(store.unanswered_runs().await.expect("asked").is_empty());
    // What ends before it was promised is answered by whoever asked.
    store.begin_run(run("w-2"), 9).await.expect("begun");
    assert!(store.end_run("w-2", Ended::Done("1".into())).await.expect("ended"));
    assert!(!store.acknowledge_run("w-2").await.expect("asked"));
    assert!(store.unanswered_runs().await.expect("asked").is_empty());
    // A run of a command is nobody else's until it is handed over.
    store.begin_run(runs::new("w-3"), 9).await.expect("begun");
    assert!(store.runs_to_go_on(now_ms(), HOUR).await.expect("asked").is_empty());
    assert!(store.hand_over_run("w-3").await.expect("asked"));
    assert_eq!(store.runs_to_go_on(now_ms(), HOUR).await.expect("asked"), ["w-3"]);
}

/// Two runs that ask the same person the same, as 77 and 78.
async fn two<E: Engine>() -> Fixture<E> {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    assert!(store.begin_run(run("w-2"), 9).await.expect("begun"));
    store.begin_task("w-2", 0).await.expect("begun");
    let kept = store.keep_message(message("w-2")).await.expect("kept").expect("the first time");
    store.part_sent(&kept.turn, 0, "78").await.expect("noted");
    for (id, message) in [("w-2", "78"), ("w-1", "77")] {
        let sent = store.message_sent(&TurnId::new(format!("{id}/ask"))).await.expect("asked");
        assert_eq!(sent, Sent::Out(vec![message.into()]));
    }
    store.end_task("w-2", 0, Ended::Done("{}".into())).await.expect("ended");
    store.begin_task("w-2", 1).await.expect("begun");
    let before = store.kept_run("w-1").await.expect("asked");
    let began = store.wait(NewWait { patience: 2 * HOUR, ..wait("w-2") }, now_ms()).await.expect("waits");
    assert!(matches!(began, Waited::Open { begins: true, .. }), "{began:?}");
    assert_eq!(store.kept_run("w-1").await.expect("asked"), before, "the other one waits as it did");
    fixture
}

pub(super) async fn of_two_runs_that_ask_the_same_each_has_its_own_reply<E: Engine>() {
    let fixture = two::<E>().await;
    let store = &fixture.store;
    // Not by its words: it is another message than the one that was asked last.
    store.persist(CHANNEL, vec![answering(1, "ben", "77", "Edited")]).await.expect("kept");
    assert_eq!(store.runs_to_go_on(now_ms(), 9 * HOUR).await.expect("asked"), ["w-1"]);
    assert_eq!(store.wait(wait("w-1"), now_ms()).await.expect("asked"), Waited::Replied("{\"n\":1}".into()));
    let still = store.wait(wait("w-2"), now_ms()).await.expect("asked");
    assert!(matches!(still, Waited::Open { begins: false, .. }), "{still:?}");
    store.persist(CHANNEL, vec![answering(2, "ben", "78", "Edited")]).await.expect("kept");
    assert_eq!(store.wait(wait("w-2"), now_ms()).await.expect("asked"), Waited::Replied("{\"n\":2}".into()));
    assert_eq!(pending(&fixture).await, [0_i64; 0]);
}

pub(super) async fn of_two_runs_that_wait_each_has_its_own_end<E: Engine>() {
    let fixture = two::<E>().await;
    let store = &fixture.store;
    // The first one's time is over, and so somebody else ends alone.
    let later = now_ms() + HOUR + 1;
    assert_eq!(store.runs_to_go_on(later, 9 * HOUR).await.expect("asked"), ["w-1"]);
    assert_eq!(store.wait(wait("w-1"), later).await.expect("asked"), Waited::TimedOut);
    let still = store.wait(wait("w-2"), later).await.expect("asked");
    assert!(matches!(still, Waited::Open { begins: false, .. }), "{still:?}");
    for id in ["w-1", "w-2"] {
        assert!(store.acknowledge_run(id).await.expect("asked"));
    }
    assert!(store.cancel_run("w-1", &caller("ann")).await.expect("cancelled"));
    let to = run("w-1").answer_to.expect("somewhere");
    assert_eq!(store.answer_run("w-2", to.clone(), reply()).await.expect("asked"), None, "it goes on");
    assert!(store.answer_run("w-1", to.clone(), reply()).await.expect("told").is_some());
    store.persist(CHANNEL, vec![answering(1, "ben", "78", "When is it?")]).await.expect("kept");
    assert_eq!(store.wait(wait("w-2"), later).await.expect("asked"), Waited::Replied("{\"n\":1}".into()));
    store.end_task("w-2", 1, Ended::Done("{}".into())).await.expect("ended");
    assert!(store.end_run("w-2", Ended::Done("1".into())).await.expect("ended"));
    assert_eq!(store.unanswered_runs().await.expect("asked"), ["w-2"]);
    assert!(store.answer_run("w-2", to, reply()).await.expect("told").is_some());
}

pub(super) async fn a_promise_is_of_one_run_alone<E: Engine>() {
    let fixture = two::<E>().await;
    let store = &fixture.store;
    assert!(store.acknowledge_run("w-1").await.expect("asked"));
    for id in ["w-1", "w-2"] {
        assert!(store.end_run(id, Ended::Done("1".into())).await.expect("ended"));
    }
    assert_eq!(store.unanswered_runs().await.expect("asked"), ["w-1"]);
    let to = run("w-2").answer_to.expect("somewhere");
    assert_eq!(store.answer_run("w-2", to, reply()).await.expect("asked"), None, "nobody promised it");
}

pub(super) async fn times_follow_the_clock_of_what_waits_in_serve_alone<E: Engine>() {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    store.begin_run(runs::new("w-2"), 9).await.expect("begun");
    store.begin_run(run("w-3"), 9).await.expect("begun");
    assert!(store.end_run("w-3", Ended::Done("1".into())).await.expect("ended"));
    let kept = async |id: &str| store.kept_run(id).await.expect("asked").expect("there");
    let (of_command, ended, waiting) = (kept("w-2").await, kept("w-3").await, kept("w-1").await);
    store.shift_waits(HOUR).await.expect("shifted");
    assert_eq!(kept("w-1").await.began_at, waiting.began_at + HOUR);
    assert_eq!((kept("w-2").await, kept("w-3").await), (of_command, ended), "nobody waits there");
    // What waits for less than it may is left alone.
    store.shift_waits(-2 * HOUR).await.expect("shifted");
    let before = kept("w-1").await;
    store.bound_waits(before.began_at + HOUR).await.expect("bounded");
    assert_eq!(kept("w-1").await, before);
}

pub(super) async fn schedules_are_looked_at_one_by_one<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    for workflow in ["daily", "weekly"] {
        assert_eq!(store.schedule_looked(workflow, 100).await.expect("asked"), 100);
    }
    store.schedule_done("daily", 200).await.expect("noted");
    let fixture = fixture.restart();
    let looked = async |workflow| fixture.store.schedule_looked(workflow, 300).await.expect("asked");
    assert_eq!((looked("daily").await, looked("weekly").await), (200, 100));
}

pub(super) async fn what_could_not_be_sent_is_sent_anew_when_its_run_is_opened_again<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let sent = async |id: &str| store.message_sent(&TurnId::new(format!("{id}/ask"))).await.expect("asked");
    // Refused; refused as well; refused in part, and the rest is on its way; out.
    for (id, refused, out) in [("w-1", 2, 0), ("w-2", 2, 0), ("w-3", 1, 0), ("w-4", 0, 2)] {
        assert!(store.begin_run(run(id), 9).await.expect("begun"));
        store.begin_task(id, 0).await.expect("begun");
        let mut new = message(id);
        new.reply.parts.extend(new.reply.parts.clone());
        let kept = store.keep_message(new).await.expect("kept").expect("the first time");
        for n in 0..refused {
            store.part_failed(&kept.turn, n, "blocked", Vec::new()).await.expect("noted");
        }
        for n in 0..out {
            store.part_sent(&kept.turn, n, "77").await.expect("noted");
        }
    }
    for id in ["w-1", "w-3", "w-4"] {
        assert!(store.reopen_run(id).await.expect("reopened"));
    }
    assert_eq!(sent("w-1").await, Sent::Unknown);
    for id in ["w-2", "w-3"] {
        assert!(!matches!(sent(id).await, Sent::Unknown | Sent::Out(_)), "{id}");
    }
    assert!(matches!(sent("w-4").await, Sent::Out(_)), "what is out is out");
    store.begin_task("w-1", 0).await.expect("begun");
    let kept = store.keep_message(message("w-1")).await.expect("kept").expect("anew");
    assert_eq!(kept.parts.len(), 1);
    store.part_sent(&kept.turn, 0, "78").await.expect("noted");
    assert_eq!(sent("w-1").await, Sent::Out(vec!["78".into()]));
    assert_eq!(store.keep_message(message("w-4")).await.expect("asked"), None, "kept once");
}

pub(super) async fn a_run_that_is_opened_again_waits_again_and_keeps_what_was_said<E: Engine>() {
    let fixture = two::<E>().await;
    let store = &fixture.store;
    let later = now_ms() + 3 * HOUR;
    let otherwise = Ended::Done("{}".into());
    for (id, ended) in [("w-1", Ended::Failed("{}".into())), ("w-2", otherwise)] {
        assert_eq!(store.wait(wait(id), later).await.expect("asked"), Waited::TimedOut);
        store.end_task(id, 1, ended).await.expect("ended");
    }
    assert!(store.reopen_run("w-1").await.expect("reopened"));
    let sent = store.message_sent(&TurnId::new("w-1/ask")).await.expect("asked");
    assert_eq!(sent, Sent::Out(vec!["77".into()]), "what is out is out");
    store
        .persist(CHANNEL, vec![answering(1, "ben", "77", "x"), answering(2, "ben", "78", "x")])
        .await
        .expect("kept");
    assert_eq!(pending(&fixture).await, [2], "that one goes on without a reply");
    assert!(
        store.hand_over_run("w-1").await.expect("asked") && store.begin_task("w-1", 1).await.expect("begun")
    );
    assert_eq!(store.wait(wait("w-1"), later).await.expect("asked"), Waited::Replied("{\"n\":1}".into()));
    // It fails behind the reply: that stays the reply.
    store.end_task("w-1", 1, Ended::Failed("{}".into())).await.expect("ended");
    assert!(store.reopen_run("w-1").await.expect("reopened"));
    store.persist(CHANNEL, vec![answering(3, "ben", "77", "x")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [2, 3], "a second one is an ordinary message");
}

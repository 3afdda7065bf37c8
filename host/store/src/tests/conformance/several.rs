//! Of several runs that wait each goes its own way: a reply, a timeout, an end and a promise are of
//! one of them alone.

use super::waits::{HOUR, answering, message, pending, reply, run, wait, waiting};
use super::*;

/// Two runs that ask the same person the same, as 77 and 78.
pub(super) async fn two<E: Engine>() -> Fixture<E> {
    let fixture = waiting::<E>("w-1").await;
    let store = &fixture.store;
    assert!(store.begin_run(run("w-2"), 9).await.expect("begun"));
    store.begin_task("w-2", 0).await.expect("begun");
    let kept = store.keep_message(message("w-2")).await.expect("kept").expect("the first time");
    store.mark_part_sent(&kept.turn, 0, "78").await.expect("noted");
    for (id, message) in [("w-2", "78"), ("w-1", "77")] {
        let sent = store.load_send_state(&TurnId::new(format!("{id}/ask"))).await.expect("asked");
        assert_eq!(sent, SendState::Out(vec![message.into()]));
    }
    store.end_task("w-2", 0, Ok("{}".into())).await.expect("ended");
    store.begin_task("w-2", 1).await.expect("begun");
    let before = store.load_run("w-1").await.expect("asked");
    let began = store.wait(NewWait { patience: 2 * HOUR, ..wait("w-2") }, now_ms()).await.expect("waits");
    assert!(matches!(began, WaitState::Open { begins: true, .. }), "{began:?}");
    assert_eq!(store.load_run("w-1").await.expect("asked"), before, "the other one waits as it did");
    fixture
}

pub(super) async fn of_two_runs_that_ask_the_same_each_has_its_own_reply<E: Engine>() {
    let fixture = two::<E>().await;
    let store = &fixture.store;
    // Not by its words: it is another message than the one that was asked last.
    store.persist(CHANNEL, vec![answering(1, "ben", "77", "Edited")]).await.expect("kept");
    assert_eq!(store.runs_to_go_on(now_ms(), 9 * HOUR).await.expect("asked").runs, ["w-1"]);
    assert_eq!(
        store.wait(wait("w-1"), now_ms()).await.expect("asked"),
        WaitState::Replied("{\"n\":1}".into())
    );
    let still = store.wait(wait("w-2"), now_ms()).await.expect("asked");
    assert!(matches!(still, WaitState::Open { begins: false, .. }), "{still:?}");
    store.persist(CHANNEL, vec![answering(2, "ben", "78", "Edited")]).await.expect("kept");
    assert_eq!(
        store.wait(wait("w-2"), now_ms()).await.expect("asked"),
        WaitState::Replied("{\"n\":2}".into())
    );
    assert_eq!(pending(&fixture).await, [0_i64; 0]);
}

pub(super) async fn of_two_runs_that_wait_each_has_its_own_end<E: Engine>() {
    let fixture = two::<E>().await;
    let store = &fixture.store;
    // The first one's time is over, and so somebody else ends alone.
    let later = now_ms() + HOUR + 1;
    assert_eq!(store.runs_to_go_on(later, 9 * HOUR).await.expect("asked").runs, ["w-1"]);
    assert_eq!(store.wait(wait("w-1"), later).await.expect("asked"), WaitState::TimedOut);
    let still = store.wait(wait("w-2"), later).await.expect("asked");
    assert!(matches!(still, WaitState::Open { begins: false, .. }), "{still:?}");
    for id in ["w-1", "w-2"] {
        assert!(store.acknowledge_run(id).await.expect("asked"));
    }
    assert!(store.cancel_run("w-1", Some(&caller("ann"))).await.expect("cancelled"));
    let to = run("w-1").answer_to.expect("somewhere");
    assert_eq!(store.answer_run("w-2", to.clone(), reply()).await.expect("asked"), None, "it goes on");
    assert!(store.answer_run("w-1", to.clone(), reply()).await.expect("told").is_some());
    store.persist(CHANNEL, vec![answering(1, "ben", "78", "When is it?")]).await.expect("kept");
    assert_eq!(store.wait(wait("w-2"), later).await.expect("asked"), WaitState::Replied("{\"n\":1}".into()));
    store.end_task("w-2", 1, Ok("{}".into())).await.expect("ended");
    assert!(store.end_run("w-2", Ok("1".into())).await.expect("ended"));
    assert_eq!(store.load_unanswered_runs().await.expect("asked"), ["w-2"]);
    assert!(store.answer_run("w-2", to, reply()).await.expect("told").is_some());
}

pub(super) async fn a_promise_is_of_one_run_alone<E: Engine>() {
    let fixture = two::<E>().await;
    let store = &fixture.store;
    assert!(store.acknowledge_run("w-1").await.expect("asked"));
    for id in ["w-1", "w-2"] {
        assert!(store.end_run(id, Ok("1".into())).await.expect("ended"));
    }
    assert_eq!(store.load_unanswered_runs().await.expect("asked"), ["w-1"]);
    let to = run("w-2").answer_to.expect("somewhere");
    assert_eq!(store.answer_run("w-2", to, reply()).await.expect("asked"), None, "nobody promised it");
}

pub(super) async fn what_could_not_be_sent_is_sent_anew_when_its_run_is_opened_again<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let sent =
        async |id: &str| store.load_send_state(&TurnId::new(format!("{id}/ask"))).await.expect("asked");
    // Refused; refused as well; refused in part, and the rest is on its way; out.
    for (id, refused, out) in [("w-1", 2, 0), ("w-2", 2, 0), ("w-3", 1, 0), ("w-4", 0, 2)] {
        assert!(store.begin_run(run(id), 9).await.expect("begun"));
        store.begin_task(id, 0).await.expect("begun");
        let mut new = message(id);
        new.telling.reply.parts.extend(new.telling.reply.parts.clone());
        let kept = store.keep_message(new).await.expect("kept").expect("the first time");
        for n in 0..refused {
            store.mark_part_failed(&kept.turn, n, "blocked", PartsInstead::default()).await.expect("noted");
        }
        for n in 0..out {
            store.mark_part_sent(&kept.turn, n, "77").await.expect("noted");
        }
    }
    for id in ["w-1", "w-3", "w-4"] {
        assert!(store.reopen_run(id).await.expect("reopened"));
    }
    assert_eq!(sent("w-1").await, SendState::Unknown);
    for id in ["w-2", "w-3"] {
        assert!(!matches!(sent(id).await, SendState::Unknown | SendState::Out(_)), "{id}");
    }
    assert!(matches!(sent("w-4").await, SendState::Out(_)), "what is out is out");
    store.begin_task("w-1", 0).await.expect("begun");
    let kept = store.keep_message(message("w-1")).await.expect("kept").expect("anew");
    assert_eq!(kept.parts.len(), 1);
    store.mark_part_sent(&kept.turn, 0, "78").await.expect("noted");
    assert_eq!(sent("w-1").await, SendState::Out(vec!["78".into()]));
    assert_eq!(store.keep_message(message("w-4")).await.expect("asked"), None, "kept once");
}

pub(super) async fn of_what_was_refused_in_part_the_rest_alone_is_sent_anew<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let text = |words: &str| NewPart { kind: PartKind::Text, body: words.into() };
    let files = |body: serde_json::Value| NewPart { kind: PartKind::Attachment, body: body.to_string() };
    let whole = || {
        let captioned = files(json!({ "caption": "one", "files": [] }));
        let parts = vec![captioned, text("two"), text("two"), text("three")];
        let mut new = message("w-1");
        new.texts = parts.iter().map(|part| part_letters(&part.body)).collect();
        new.telling.reply.parts = parts;
        new
    };
    assert!(store.begin_run(run("w-1"), 9).await.expect("begun"));
    store.begin_task("w-1", 0).await.expect("begun");
    let kept = store.keep_message(whole()).await.expect("kept").expect("the first time");
    let state = async || store.load_send_state(&kept.turn).await.expect("asked");
    // The files are refused: what they say goes out by itself. So is a text in the middle.
    let instead = PartsInstead { next: Some(text("one")), last: Vec::new() };
    let left = store.mark_part_failed(&kept.turn, 0, "too large", instead).await.expect("noted");
    assert_eq!(
        left.iter().map(|part| part.body.as_str()).collect::<Vec<_>>(),
        ["one", "two", "two", "three"]
    );
    store.mark_part_sent(&kept.turn, left[0].n, "77").await.expect("noted");
    store.mark_part_sent(&kept.turn, left[1].n, "78").await.expect("noted");
    store.mark_part_failed(&kept.turn, left[2].n, "blocked", PartsInstead::default()).await.expect("noted");
    store.mark_part_sent(&kept.turn, left[3].n, "79").await.expect("noted");
    assert!(matches!(state().await, SendState::Failed(_)));
    assert!(store.reopen_run("w-1").await.expect("reopened"));
    // A crash comes before the rest is kept.
    assert!(store.reopen_run("w-1").await.expect("reopened"));
    assert_eq!(state().await, SendState::Unknown);
    assert_eq!(store.load_unsent(&kept.turn).await.expect("asked"), None, "the rest is not kept");
    store.prune(much_later()).await.expect("it");
    store.begin_task("w-1", 0).await.expect("begun");
    let rest = store.keep_message(whole()).await.expect("kept").expect("the rest");
    let bodies: Vec<_> = rest.parts.iter().map(|part| part.body.as_str()).collect();
    assert_eq!(bodies, ["{\"files\":[]}", "two"]);
    assert_eq!(store.keep_message(whole()).await.expect("asked"), None, "kept once");
    // It is refused in part once more.
    store.mark_part_sent(&kept.turn, rest.parts[0].n, "80").await.expect("noted");
    store
        .mark_part_failed(&kept.turn, rest.parts[1].n, "blocked", PartsInstead::default())
        .await
        .expect("noted");
    assert!(store.reopen_run("w-1").await.expect("reopened"));
    let rest = store.keep_message(whole()).await.expect("kept").expect("the rest");
    assert_eq!(rest.parts.iter().map(|part| part.body.as_str()).collect::<Vec<_>>(), ["two"]);
    store.mark_part_sent(&kept.turn, rest.parts[0].n, "81").await.expect("noted");
    let out = ["77", "78", "79", "80", "81"].map(str::to_owned).to_vec();
    assert_eq!(state().await, SendState::Out(out));
}

pub(super) async fn a_run_that_is_opened_again_waits_again_and_keeps_what_was_said<E: Engine>() {
    let fixture = two::<E>().await;
    let store = &fixture.store;
    let later = now_ms() + 3 * HOUR;
    for (id, ended) in [("w-1", Err("{}".into())), ("w-2", Ok("{}".into()))] {
        assert_eq!(store.wait(wait(id), later).await.expect("asked"), WaitState::TimedOut);
        store.end_task(id, 1, ended).await.expect("ended");
    }
    assert!(store.reopen_run("w-1").await.expect("reopened"));
    let sent = store.load_send_state(&TurnId::new("w-1/ask")).await.expect("asked");
    assert_eq!(sent, SendState::Out(vec!["77".into()]), "what is out is out");
    store
        .persist(CHANNEL, vec![answering(1, "ben", "77", "x"), answering(2, "ben", "78", "x")])
        .await
        .expect("kept");
    assert_eq!(pending(&fixture).await, [2], "that one goes on without a reply");
    assert!(
        store.hand_over_run("w-1").await.expect("asked") && store.begin_task("w-1", 1).await.expect("begun")
    );
    assert_eq!(store.wait(wait("w-1"), later).await.expect("asked"), WaitState::Replied("{\"n\":1}".into()));
    // It fails behind the reply: that stays the reply.
    store.end_task("w-1", 1, Err("{}".into())).await.expect("ended");
    assert!(store.reopen_run("w-1").await.expect("reopened"));
    store.persist(CHANNEL, vec![answering(3, "ben", "77", "x")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [2, 3], "a second one is an ordinary message");
}

pub(super) async fn a_run_that_is_opened_again_does_not_wait_for_what_went_on_without_a_reply<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    three(store, "w-1", "77").await;
    store.wait(wait("w-1"), now_ms()).await.expect("waits");
    assert_eq!(store.wait(wait("w-1"), now_ms() + 2 * HOUR).await.expect("asked"), WaitState::TimedOut);
    store.end_task("w-1", 1, Ok("{}".into())).await.expect("ended");
    store.begin_task("w-1", 2).await.expect("begun");
    store.end_task("w-1", 2, Err("{}".into())).await.expect("ended");
    assert!(store.reopen_run("w-1").await.expect("reopened"));
    store.persist(CHANNEL, vec![answering(1, "ben", "77", "x")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [1], "an ordinary message");
}

/// Begins a run of three tasks: the first has asked, and is out as this message.
async fn three(store: &Store, id: &str, out: &str) {
    let tasks = ["ask", "answer", "more"].map(str::to_owned).to_vec();
    assert!(store.begin_run(NewRun { tasks, ..run(id) }, 9).await.expect("begun"));
    store.begin_task(id, 0).await.expect("begun");
    let kept = store.keep_message(message(id)).await.expect("kept").expect("the first time");
    store.mark_part_sent(&kept.turn, 0, out).await.expect("noted");
    store.load_send_state(&kept.turn).await.expect("noted");
    store.end_task(id, 0, Ok("{}".into())).await.expect("ended");
    store.begin_task(id, 1).await.expect("begun");
}

pub(super) async fn a_second_wait_for_the_same_message_has_its_own_time<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let later = now_ms() + 2 * HOUR;
    // Somebody replies before the second wait begins, or while it lasts.
    for (id, out, is_early) in [("w-1", "77", true), ("w-2", "78", false)] {
        three(store, id, out).await;
        let first = NewWait { is_awaited_later: true, ..wait(id) };
        let began = store.wait(first.clone(), now_ms()).await.expect("waits");
        assert!(matches!(began, WaitState::Open { begins: true, .. }), "{began:?}");
        assert_eq!(store.wait(first, later).await.expect("asked"), WaitState::TimedOut);
        let reply = async || {
            let update = answering(out.parse().expect("a number"), "ben", out, "x");
            store.persist(CHANNEL, vec![update]).await.expect("kept");
        };
        if is_early {
            reply().await;
        }
        store.end_task(id, 1, Ok("{}".into())).await.expect("ended");
        store.begin_task(id, 2).await.expect("begun");
        let second = NewWait { task: 2, ..wait(id) };
        if !is_early {
            let began = store.wait(second.clone(), later).await.expect("waits");
            assert!(matches!(began, WaitState::Open { begins: true, .. }), "{began:?}");
            assert!(
                !store.runs_to_go_on(later, 9 * HOUR).await.expect("asked").runs.contains(&id.to_owned())
            );
            reply().await;
        }
        let resolved = store.wait(second, later).await.expect("asked");
        assert_eq!(resolved, WaitState::Replied(format!("{{\"n\":{out}}}")), "{id}");
    }
    assert_eq!(pending(&fixture).await, [0_i64; 0]);
    // The last one closes it.
    three(store, "w-3", "79").await;
    store.wait(wait("w-3"), now_ms()).await.expect("waits");
    assert_eq!(store.wait(wait("w-3"), later).await.expect("asked"), WaitState::TimedOut);
    store.persist(CHANNEL, vec![answering(79, "ben", "79", "x")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [79], "too late");
}

pub(super) async fn a_wait_is_of_one_task_that_runs<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let tasks = || ["ask", "more", "answer"].map(str::to_owned).to_vec();
    for id in ["w-1", "w-2", "w-3"] {
        assert!(store.begin_run(NewRun { tasks: tasks(), ..run(id) }, 9).await.expect("begun"));
        let mut more = NewMessage { task: 1, ..message(id) };
        more.telling.turn = TurnId::new(format!("{id}/more"));
        for (task, new) in [(0, message(id)), (1, more)] {
            store.begin_task(id, task).await.expect("begun");
            let kept = store.keep_message(new).await.expect("kept").expect("the first time");
            store.mark_part_sent(&kept.turn, 0, &format!("{id}-{task}")).await.expect("noted");
            store.load_send_state(&kept.turn).await.expect("noted");
        }
        store.begin_task(id, 2).await.expect("begun");
    }
    assert!(store.cancel_run("w-3", Some(&caller("ann"))).await.expect("cancelled"));
    let kept = async |id: &str| store.load_run(id).await.expect("asked").expect("there");
    let wait = |id: &str| NewWait { task: 2, ..wait(id) };
    let others = (kept("w-2").await, kept("w-3").await);
    assert!(matches!(
        store.wait(wait("w-1"), now_ms()).await.expect("waits"),
        WaitState::Open { begins: true, .. }
    ));
    let waits: Vec<_> = kept("w-1").await.tasks.iter().map(|task| task.waits.is_some()).collect();
    assert_eq!((waits, kept("w-2").await), (vec![false, false, true], others.0), "the others do not wait");
    assert_eq!(store.wait(wait("w-3"), now_ms()).await.expect("asked"), WaitState::TimedOut, "it has ended");
    assert_eq!(kept("w-3").await, others.1);
    // A reply to one message is none to the other.
    store.persist(CHANNEL, vec![answering(3, "ben", "w-2-1", "x")]).await.expect("kept");
    let still = store.wait(wait("w-2"), now_ms()).await.expect("asked");
    assert!(matches!(still, WaitState::Open { .. }), "{still:?}");
    // The end of its time is none of the other message's.
    assert_eq!(store.wait(wait("w-1"), now_ms() + 2 * HOUR).await.expect("asked"), WaitState::TimedOut);
    store
        .persist(CHANNEL, vec![answering(1, "ben", "w-1-1", "x"), answering(2, "ben", "w-1-0", "x")])
        .await
        .expect("kept");
    assert_eq!(pending(&fixture).await, [2]);
}

pub(super) async fn a_reply_is_of_its_channel_and_its_place<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    // Somebody else was told something under the number that the message will have there.
    let elsewhere = NewReply { target: "cat".into(), ..reply() };
    let said =
        store.tell(CHANNEL, &TurnId::new("t-1"), elsewhere).await.expect("kept").expect("the first time");
    store.mark_part_sent(&said.turn, 0, "77").await.expect("noted");
    store.begin_run(run("w-1"), 9).await.expect("begun");
    store.begin_task("w-1", 0).await.expect("begun");
    store.keep_message(message("w-1")).await.expect("kept").expect("the first time");
    store.persist("discord-1", vec![answering(1, "ben", "77", "When is it?")]).await.expect("kept");
    assert_eq!(ids(&store.pending("discord-1", None, 9).await.expect("it")), [1], "another channel's");
    store.persist(CHANNEL, vec![answering(2, "ben", "77", "When is it?")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [0_i64; 0]);
}

pub(super) async fn an_album_is_of_its_person_and_channel<E: Engine>() {
    let fixture = two::<E>().await;
    let store = &fixture.store;
    let part = |update_id: i64, sender: &str, message: &str| NewUpdate {
        album: Some("a".into()),
        ..answering(update_id, sender, message, "x")
    };
    store.persist(CHANNEL, vec![part(1, "ben", "77"), part(2, "ben", "77")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [0_i64; 0], "one reply");
    store.persist(CHANNEL, vec![part(3, "eve", "77")]).await.expect("kept");
    store.persist("discord-1", vec![part(4, "ben", "77")]).await.expect("kept");
    assert_eq!(pending(&fixture).await, [3], "somebody else's");
    assert_eq!(ids(&store.pending("discord-1", None, 9).await.expect("it")), [4], "another channel's");
    let still = store.wait(wait("w-2"), now_ms()).await.expect("asked");
    assert!(matches!(still, WaitState::Open { .. }), "{still:?}");
}

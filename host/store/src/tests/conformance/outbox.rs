//! Replies, and what is shown or held for them.

use super::*;
use cofferdam_core::message::Delivery;

pub(super) async fn only_unsent_parts_come_back<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    let reply = fixture.store.end(CHANNEL, &turn, text_reply(&["a", "b", "c"])).await.expect("it");
    assert_eq!(reply.parts.len(), 3);
    fixture.store.mark_part_sent(&turn, 0, "100").await.expect("it");

    let fixture = fixture.restart();
    let unsent = fixture.store.take_over(CHANNEL, &[]).await.expect("it").replies;
    assert_eq!(unsent.len(), 1);
    assert_eq!(
        unsent[0].parts.iter().map(|part| (part.n, part.body.as_str())).collect::<Vec<_>>(),
        [(1, "b"), (2, "c")]
    );
    let again = fixture.store.end(CHANNEL, &turn, text_reply(&["other"])).await.expect("it");
    assert_eq!(again, unsent[0], "a turn ends once");
    let sorry = NewPart { kind: PartKind::Text, body: "sorry".into() };
    let sorry = PartsInstead { next: None, last: vec![sorry] };
    // The second time as after an answer of the store that was lost.
    for _ in 0..2 {
        let left = fixture.store.mark_part_failed(&turn, 1, "blocked", sorry.clone()).await.expect("it");
        assert_eq!((left.len(), &left[0]), (2, &unsent[0].parts[1]));
        assert_eq!(left[1], ReplyPart { n: 3, kind: PartKind::Text, body: "sorry".into() });
    }
    let left = &fixture.store.take_over(CHANNEL, &[]).await.expect("it").replies[0];
    assert_eq!((left.last_sent.as_deref(), left.parts.len()), (Some("100"), 2));
    fixture.store.mark_part_sent(&turn, 2, "101").await.expect("it");
    fixture.store.mark_part_sent(&turn, 3, "102").await.expect("it");
    assert_eq!(fixture.store.take_over(CHANNEL, &[]).await.expect("it").replies, []);
    assert_eq!(fixture.store.take_over(CHANNEL, &[]).await.expect("it").turns, []);
}

pub(super) async fn what_is_said_in_place_of_a_part_has_its_place_after_a_restart<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    fixture.store.end(CHANNEL, &turn, text_reply(&["a", "b", "c", "d"])).await.expect("it");
    let text = |body: &str| NewPart { kind: PartKind::Text, body: body.into() };
    fixture.store.mark_part_sent(&turn, 0, "100").await.expect("it");
    let instead = PartsInstead { next: Some(text("B")), last: vec![text("sorry")] };
    let expected = [(2, "B"), (3, "c"), (4, "d"), (5, "sorry")];
    let seen = |parts: &[ReplyPart]| parts.iter().map(|part| (part.n, part.body.clone())).collect::<Vec<_>>();
    let expected = expected.map(|(n, body)| (n, body.to_owned()));
    // The second time as after an answer of the store that was lost.
    for _ in 0..2 {
        let left = fixture.store.mark_part_failed(&turn, 1, "refused", instead.clone()).await.expect("it");
        assert_eq!(seen(&left), expected);
    }
    let fixture = fixture.restart();
    let unsent = fixture.store.take_over(CHANNEL, &[]).await.expect("it").replies;
    assert_eq!((unsent.len(), seen(&unsent[0].parts)), (1, expected.to_vec()));
}

pub(super) async fn blobs_are_in_use_from_the_call_until_the_reply_is_out<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let in_use = |fixture: &Fixture<E>| {
        fixture.store.blobs_in_use().expect("it").into_iter().collect::<Vec<_>>().join(" ")
    };
    for (id, sha256) in [(1, "a"), (2, "b"), (3, "a")] {
        let turn = fixture.bound(id).await;
        fixture.store.record(turn.call(0).as_str(), "h", &answer(vec![file(sha256)]), 0).expect("recorded");
    }
    let fixture = fixture.restart();
    assert_eq!(in_use(&fixture), "a b");
    let turns: Vec<_> = fixture
        .store
        .take_over(CHANNEL, &[])
        .await
        .expect("it")
        .turns
        .into_iter()
        .map(|bound| bound.turn)
        .collect();
    fixture.store.end(CHANNEL, &turns[0], text_reply(&["x", "y"])).await.expect("it");
    fixture.store.mark_part_sent(&turns[0], 0, "1").await.expect("it");
    fixture.store.dismiss(&turns[2]).await.expect("it");
    assert_eq!(in_use(&fixture), "a b", "something is still to be sent");
    let nothing = PartsInstead::default();
    fixture.store.mark_part_failed(&turns[0], 1, "no", nothing).await.expect("it");
    assert_eq!(in_use(&fixture), "b");
    fixture.store.end(CHANNEL, &turns[1], text_reply(&[])).await.expect("it");
    assert_eq!(in_use(&fixture), "", "nothing of it is sent");
}

pub(super) async fn the_last_files_of_each_person_in_each_conversation_are_known_after_a_restart<
    E: Engine,
>() {
    let fixture = Fixture::<E>::new();
    fixture.ends(1, files("here", None, "first")).await;
    fixture.ends(2, files("there", Some("a"), "other")).await;
    fixture.ends(3, files("here", None, "second")).await;
    let fixture = fixture.restart();
    assert_eq!(fixture.recent("here", "ann").await.as_deref(), Some("second"));
    assert_eq!(fixture.recent("there", "ann").await.as_deref(), Some("other"));
    assert_eq!((fixture.recent("here", "ben").await, fixture.recent("", "ann").await), (None, None));
    assert_eq!(fixture.store.recent("telegram-2", "here", "ann").await.expect("it"), None);
    // A turn that ended once notes nothing more, however often it is ended.
    let first = TurnId::new("telegram-1-1");
    let noting = Some(files("here", None, "first"));
    fixture.store.end_noting(CHANNEL, &first, text_reply(&["x"]), noting).await.expect("it");
    assert_eq!(fixture.recent("here", "ann").await.as_deref(), Some("second"));
    fixture.store.prune(much_later()).await.expect("it");
    assert_eq!(fixture.recent("here", "ann").await, None, "and forgotten in time");
}

pub(super) async fn a_placeholder_is_known_until_its_turn_ends<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    assert_eq!(fixture.store.placeholder(&turn).await.expect("it"), None);
    fixture.store.mark_placeholder_begun(&turn).await.expect("it");
    let fixture = fixture.restart();
    assert_eq!(fixture.store.placeholder(&turn).await.expect("it"), Some(Placeholder::Unknown));
    fixture.store.mark_placeholder_sent(&turn, "77").await.expect("it");
    fixture.store.mark_placeholder_begun(&turn).await.expect("it");
    let fixture = fixture.restart();
    assert_eq!(fixture.store.placeholder(&turn).await.expect("it"), Some(Placeholder::Sent("77".into())));
    fixture.store.end(CHANNEL, &turn, text_reply(&["x"])).await.expect("it");
    assert_eq!(fixture.store.placeholder(&turn).await.expect("it"), None);
    let dismissed = fixture.bound(2).await;
    fixture.store.mark_placeholder_begun(&dismissed).await.expect("it");
    fixture.store.dismiss(&dismissed).await.expect("it");
    assert_eq!(fixture.store.placeholder(&dismissed).await.expect("it"), None);
}

pub(super) async fn what_is_handed_over_is_there_once_and_in_order<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let (to, from) = (fixture.bound(1).await, fixture.bound(2).await);
    let delivery =
        |sha256: &str| Delivery { request: to.clone(), attachments: vec![file(sha256), file("both")] };
    let calls = [from.call(0), from.call(1)];
    assert_eq!(fixture.store.is_delivered(calls[0].as_str()), Ok(false));
    for (call, sha256) in [(&calls[0], "b"), (&calls[1], "a"), (&calls[0], "again")] {
        fixture.store.deliver(call.as_str(), &delivery(sha256)).expect("handed over");
    }
    let fixture = fixture.restart();
    assert_eq!(fixture.store.is_delivered(calls[0].as_str()), Ok(true));
    let shas = |files: Vec<OutgoingAttachment>| files.into_iter().map(|file| file.sha256).collect::<Vec<_>>();
    assert_eq!(shas(fixture.store.files_handed_over(&to).await.expect("it")), ["b", "both", "a", "both"]);
    assert_eq!(shas(fixture.store.files_handed_over(&from).await.expect("it")), [""; 0]);
    let in_use = fixture.store.blobs_in_use().expect("it");
    assert!(["a", "b", "both"].iter().all(|sha256| in_use.contains(*sha256)), "{in_use:?}");
}

pub(super) async fn blobs_are_kept_for_a_retry_until_it_is_over<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let session = SessionId::new("s");
    let retry = BlobHolder::Retry(session.clone());
    let in_use = |fixture: &Fixture<E>| fixture.store.blobs_in_use().expect("it").contains("a");
    let turn = fixture.bound(1).await;
    fixture.says("s", turn.as_str(), 0, "x").await;
    fixture.store.record(turn.call(0).as_str(), "h", &answer(vec![file("a")]), 0).expect("recorded");
    fixture.store.hold(&retry, &[file("a")]).await.expect("it");
    fixture.store.end(CHANNEL, &turn, text_reply(&[])).await.expect("it");
    let fixture = fixture.restart();
    fixture.store.prune(now_ms()).await.expect("it");
    assert!(in_use(&fixture), "its own turn has ended");
    let retries = fixture.bound(2).await;
    fixture.store.hold(&BlobHolder::Turn(retries.clone()), &[file("a")]).await.expect("it");
    let add_answer = async |session: &str, n| {
        let whose = whose(session, retries.as_str());
        fixture.store.add_answer(&whose, n, "y".into(), 10).await.expect("added");
    };
    add_answer("s", 0).await;
    assert!(in_use(&fixture), "the turn that retries sends it");
    fixture.store.dismiss(&retries).await.expect("it");
    assert!(!in_use(&fixture), "it was answered");
    fixture.store.hold(&retry, &[file("a")]).await.expect("it");
    add_answer("other", 1).await;
    assert!(in_use(&fixture), "an answer elsewhere is none");
    // Again after a crash: the line is there.
    add_answer("s", 0).await;
    assert!(!in_use(&fixture));
    assert_eq!(
        (fixture.said("s", "").await, fixture.used("ann").await),
        ("telegram-1-1:x telegram-1-2:y".to_owned(), (20, 0))
    );
    fixture.store.hold(&retry, &[file("a")]).await.expect("it");
    fixture.store.forget_lines(&session).await.expect("it");
    assert!(!in_use(&fixture), "what is forgotten is not retried");
}

pub(super) async fn blobs_of_turns_that_nobody_knows_are_let_go<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let in_use = |fixture: &Fixture<E>| {
        fixture.store.blobs_in_use().expect("it").into_iter().collect::<Vec<_>>().join(" ")
    };
    // A task of a run has no reply; what holds a file is forgotten with its call.
    fixture.store.record("w-1/task/0", "h", &answer(vec![file("task")]), 0).expect("recorded");
    fixture.store.hold(&BlobHolder::Turn(TurnId::new("gone")), &[file("gone")]).await.expect("it");
    let open = fixture.bound(1).await;
    fixture.store.record(open.call(0).as_str(), "h", &answer(vec![file("open")]), 0).expect("recorded");
    fixture.store.hold(&BlobHolder::Turn(fixture.bound(2).await), &[file("begun")]).await.expect("it");
    let telling = NewTelling {
        turn: TurnId::new("said"),
        reply: text_reply(&["x"]),
        files: vec![file("said")],
        place: None,
    };
    fixture.store.tell_noting(CHANNEL, telling).await.expect("it");
    fixture.store.prune(now_ms()).await.expect("it");
    assert_eq!(in_use(&fixture), "begun open said task");
    fixture.store.prune(much_later()).await.expect("it");
    assert_eq!(in_use(&fixture), "begun open said");
    fixture.store.end(CHANNEL, &open, text_reply(&[])).await.expect("it");
    assert_eq!(in_use(&fixture), "begun said");
}

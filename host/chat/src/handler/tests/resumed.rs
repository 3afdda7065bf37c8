//! A request that goes on while nobody knows whether the one who made it is served, or on which
//! channel the files of the reply could be had.

use super::*;
use cofferdam_core::id::SessionId;

/// A request of Ann, to which Ben has replied.
fn resumed() -> ResumedTurn {
    ResumedTurn {
        run: "turn-1".to_owned(),
        request: TurnId::new("t-0"),
        target: "attic".to_owned(),
        sender: "ann".to_owned(),
        summary: None,
        from: "paper:ben".to_owned(),
        patience: "1 h".to_owned(),
        reply: Some(json!({ "text": "noon" })),
        files: None,
    }
}

/// Keeps it in the inbox, under -5; its session.
async fn keep(paper: &Paper, resumed: &ResumedTurn) -> SessionId {
    let session = paper.session(&resumed.target);
    let headers = Headers {
        session: session.clone(),
        sender: resumed.sender.clone(),
        queue: QueueMode::Turn,
        answers: None,
    };
    let update = NewUpdate {
        update_id: -5,
        album: None,
        message: None,
        raw: resumed.to_raw(),
        fate: UpdateFate::Pending(headers),
    };
    paper.base().store.persist("paper-1", vec![update]).await.expect("kept");
    session
}

#[tokio::test]
async fn a_request_goes_on_or_ends_once_it_is_known_who_is_served() {
    for (then, is_answered) in [(Served::Yes, true), (Served::No, false)] {
        let world = World::new();
        let paper = world.started(world.store());
        let outside = world.outside.clone();
        let session = keep(&paper, &resumed()).await;
        let served = |now| *outside.served.lock().expect("held shortly") = Some(now);
        served(Served::Unknown);
        let working = paper.clone();
        let work = tokio::spawn(async move {
            turn::work(working, (&session, Unit::Message(UpdateClaim::Update(-5))), None).await;
        });
        outside.looks.notified().await;
        served(then);
        work.await.expect("no panic");
        assert_eq!(!world.read().is_empty(), is_answered, "{:?}", world.read());
        let left = incoming::load_left(&*paper).await.expect("the store");
        assert!(left.iter().all(|one| matches!(one, Arrival::Inbox)), "it has ended: {left:?}");
    }
}

#[tokio::test]
async fn a_request_goes_on_without_the_files_of_a_channel_that_is_gone() {
    let world = World::new();
    let paper = world.started(world.store());
    let files = json!([{ "name": "plan.txt", "mime_type": "text/plain", "bytes": 8 }]);
    let reply = Some(json!({ "text": "noon", "files": files }));
    let resumed =
        ResumedTurn { from: "slate:ben".to_owned(), reply, files: Some("[]".to_owned()), ..resumed() };
    let session = keep(&paper, &resumed).await;
    let work = turn::work(paper, (&session, Unit::Message(UpdateClaim::Update(-5))), None);
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("nothing waits for that channel");
    let read = world.read().concat();
    assert!(read.contains("plan.txt: slate is not configured here any more."), "{read}");
}

//! What is heard and spoken.

use super::*;

pub(super) async fn what_was_heard_is_known_until_the_turn_ends<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    fixture.store.keep_transcript(&turn, "nobody counts it").await.expect("it");
    assert_eq!(fixture.store.transcript(&turn).await.expect("it"), None);
    let caller = Caller { channel: "telegram".into(), sender: "7".into() };
    fixture.store.attempt(&turn, &caller).await.expect("it");
    fixture.store.keep_transcript(&turn, "good morning").await.expect("it");
    fixture.store.keep_transcript(&turn, "something else").await.expect("it");
    let fixture = fixture.restart();
    fixture.store.attempt(&turn, &caller).await.expect("it");
    assert_eq!(fixture.store.transcript(&turn).await.expect("it").as_deref(), Some("good morning"));
    fixture.store.end(CHANNEL, &turn, text_reply(&["x"])).await.expect("it");
    assert_eq!(fixture.store.transcript(&turn).await.expect("it"), None);
}

pub(super) async fn who_is_spoken_to_stays_so<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let (one, other) = (SessionId::new("s/1"), SessionId::new("s/2"));
    fixture.store.set_spoken_to(&one, "7", true).await.expect("it");
    fixture.store.set_spoken_to(&one, "7", true).await.expect("it");
    let fixture = fixture.restart();
    let spoken = |session, sender| fixture.store.is_spoken_to(session, sender);
    assert!(spoken(&one, "7").await.expect("it"));
    assert!(!spoken(&one, "8").await.expect("it") && !spoken(&other, "7").await.expect("it"));
    fixture.store.set_spoken_to(&one, "7", false).await.expect("it");
    assert!(!spoken(&one, "7").await.expect("it"));
}

pub(super) async fn choices_that_stay_are_known<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let ask = |call: &str, channel: &str| NewApproval {
        id: format!("id of {call}"),
        channel: channel.into(),
        call: call.into(),
        sha256: "a".into(),
        place: format!("place of {call}"),
        expires_at: now_ms() + 60_000,
    };
    for (call, channel) in [("t/0", CHANNEL), ("t/1", CHANNEL), ("t/2", CHANNEL), ("t/3", "other")] {
        let (asked, _) = fixture.store.ask(ask(call, channel)).await.expect("it");
        if call != "t/1" {
            fixture.store.mark_approval_shown(&asked.id, "77").await.expect("it");
        }
        if call != "t/2" {
            let by = Some("7".to_owned());
            fixture.store.decide(&asked.id, ApprovalState::Approved, by).await.expect("it");
        }
    }
    let fixture = fixture.restart();
    // One was never shown, one still waits, one is another channel's.
    let open = fixture.store.open_choices(CHANNEL).await.expect("it");
    assert_eq!(open.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["id of t/0"]);
    fixture.store.mark_choices_gone("id of t/0").await.expect("it");
    let fixture = fixture.restart();
    assert_eq!(fixture.store.open_choices(CHANNEL).await.expect("it"), []);
}

//! Streams of events that go on after a break, and the places of which is asked what was said
//! meanwhile.

use super::*;

fn at(session: &str, number: i64) -> StreamPosition {
    StreamPosition { session: session.into(), address: format!("wss://{session}"), number }
}

fn place(place: &str, last: i64) -> ReplyPlace {
    ReplyPlace { place: place.into(), last, unasked: false }
}

async fn known<E: Engine>(fixture: &Fixture<E>) -> Option<(String, i64, bool)> {
    let stream = fixture.store.stream(CHANNEL).await.expect("it")?;
    Some((stream.position.session, stream.position.number, stream.behind))
}

async fn places<E: Engine>(fixture: &Fixture<E>) -> Vec<(String, i64)> {
    let places = fixture.store.places(CHANNEL).await.expect("it");
    places.into_iter().map(|place| (place.place, place.last)).collect()
}

pub(super) async fn a_stream_goes_on_where_its_last_message_was_kept<E: Engine>() {
    let fixture = Fixture::<E>::new();
    assert_eq!(known(&fixture).await, None);
    fixture.store.begin_stream(CHANNEL, at("a", 1)).await.expect("it");
    let persisted =
        fixture.store.persist_at(CHANNEL, vec![new(7, None)], at("a", 5), vec![place("here", 7)]).await;
    assert_eq!(ids(&persisted.expect("it").pending), [7]);
    let fixture = fixture.restart();
    assert_eq!(known(&fixture).await, Some(("a".into(), 5, true)));
    let again = fixture.store.persist_at(CHANNEL, vec![new(7, None), new(8, None)], at("a", 6), vec![]).await;
    assert_eq!(ids(&again.expect("it").pending), [8]);
    for (other, number) in [("b", 9), ("a", 2)] {
        fixture.store.advance_stream(CHANNEL, at(other, number)).await.expect("it");
    }
    fixture.store.begin_stream("telegram-2", at("c", 1)).await.expect("it");
    assert_eq!(known(&fixture).await, Some(("a".into(), 6, true)), "neither another one's nor an older one");
    fixture.store.advance_stream(CHANNEL, at("a", 10)).await.expect("it");
    assert_eq!(known(&fixture).await, Some(("a".into(), 10, true)));
    assert_eq!(fixture.store.known_since().await.expect("it"), None, "nothing is forgotten");
}

pub(super) async fn a_place_is_known_by_its_last_message_unless_one_before_may_be_missing<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    store.begin_stream(CHANNEL, at("a", 1)).await.expect("it");
    store.persist_at(CHANNEL, vec![], at("a", 2), vec![place("here", 7)]).await.expect("it");
    store.mark_caught_up(CHANNEL, "a", vec![]).await.expect("it");
    for last in [9, 8] {
        store.persist_at(CHANNEL, vec![], at("a", 3), vec![place("here", last)]).await.expect("it");
    }
    assert_eq!(places(&fixture).await, [("here".to_owned(), 9)]);
    // What was said before this one began is not known yet.
    store.begin_stream(CHANNEL, at("b", 1)).await.expect("it");
    let both = vec![place("here", 20), place("there", 21)];
    store.persist_at(CHANNEL, vec![], at("b", 2), both.clone()).await.expect("it");
    let fixture = fixture.restart();
    assert_eq!(places(&fixture).await, [("there".to_owned(), 21), ("here".to_owned(), 9)]);
    fixture.store.mark_caught_up(CHANNEL, "a", both.clone()).await.expect("it");
    assert_eq!(known(&fixture).await, Some(("b".into(), 2, true)), "another one's end is none");
    fixture.store.mark_caught_up(CHANNEL, "b", both).await.expect("it");
    assert_eq!(known(&fixture).await, Some(("b".into(), 2, false)));
    assert_eq!(places(&fixture).await, [("there".to_owned(), 21), ("here".to_owned(), 20)]);
}

pub(super) async fn a_place_that_cannot_be_asked_is_known_by_its_last_message_until_it_was<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    store.begin_stream(CHANNEL, at("a", 1)).await.expect("it");
    store.persist_at(CHANNEL, vec![], at("a", 2), vec![place("here", 7)]).await.expect("it");
    let mut new = Vec::new();
    for of in ["here", "here", "nowhere"] {
        new.push(store.note_unasked(CHANNEL, of).await.expect("it"));
    }
    assert_eq!(new, [true, false, false]);
    store.mark_caught_up(CHANNEL, "a", vec![]).await.expect("it");
    store.persist_at(CHANNEL, vec![], at("a", 3), vec![place("here", 9)]).await.expect("it");
    let fixture = fixture.restart();
    let store = &fixture.store;
    let unasked = ReplyPlace { unasked: true, ..place("here", 7) };
    let known = store.places(CHANNEL).await.expect("it");
    assert_eq!(known, [unasked], "what came between is not known");
    store.mark_caught_up(CHANNEL, "a", vec![place("here", 9)]).await.expect("it");
    store.persist_at(CHANNEL, vec![], at("a", 4), vec![place("here", 10)]).await.expect("it");
    assert_eq!(places(&fixture).await, [("here".to_owned(), 10)]);
    assert!(store.note_unasked(CHANNEL, "here").await.expect("it"), "that is news again");
}

pub(super) async fn as_many_places_are_known_as_are_remembered<E: Engine>() {
    let fixture = Fixture::<E>::new();
    fixture.store.begin_stream(CHANNEL, at("a", 1)).await.expect("it");
    let all = (0..i64::from(PLACES_MAX) + 5).map(|n| place(&n.to_string(), n)).collect();
    fixture.store.persist_at(CHANNEL, vec![], at("a", 2), all).await.expect("it");
    let places = places(&fixture).await;
    assert_eq!(places.len(), PLACES_MAX as usize);
    assert!(!places.iter().any(|(place, _)| place == "4"), "the oldest went");
}

pub(super) async fn a_message_that_is_gone_waits_no_longer<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let gone = |of: i64| NewUpdate {
        update_id: of,
        album: None,
        message: Some(format!("there/{of}")),
        raw: String::new(),
        fate: UpdateFate::Deleted { may_come: of == 3 },
    };
    let store = &fixture.store;
    store.persist(CHANNEL, vec![new(1, None), new(2, None)]).await.expect("it");
    let bound = store.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("it").expect("bound");
    store.persist(CHANNEL, vec![gone(1), gone(2), gone(3), gone(4)]).await.expect("it");
    let fixture = fixture.restart();
    let store = &fixture.store;
    assert_eq!(ids(&store.pending(CHANNEL, None, 9).await.expect("it")), Vec::<i64>::new());
    assert_eq!(store.claim(CHANNEL, UpdateClaim::Update(2)).await.expect("it"), None);
    assert_eq!(store.take_over(CHANNEL, &[]).await.expect("it").turns, [bound], "what a turn has is its");
    let later = vec![new(2, None), new(3, None), new(4, None)];
    let later = store.persist(CHANNEL, later).await.expect("it");
    assert_eq!(
        ids(&later.pending),
        [4],
        "what comes again is known, and what was gone before it came, if it might"
    );
}

//! Edits of what waits, moves of conversations, and what is told to people who wrote nothing that
//! is answered.

use super::*;

fn edit(update_id: i64, of: i64, raw: &str) -> NewUpdate {
    NewUpdate {
        update_id,
        album: None,
        message: Some(format!("there/{of}")),
        raw: raw.into(),
        fate: UpdateFate::Edited,
    }
}

fn raws(updates: &[Update]) -> Vec<String> {
    updates.iter().map(|update| update.raw.clone()).collect()
}

pub(super) async fn an_edit_changes_only_what_waits<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    store.persist(CHANNEL, vec![new(1, None), new(2, None)]).await.expect("it");
    let bound = store.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("it").expect("bound");
    let edits = vec![edit(3, 1, "late"), edit(4, 2, "first"), edit(5, 2, "second"), edit(6, 9, "nobody's")];
    let persisted = store.persist(CHANNEL, edits).await.expect("it");
    assert_eq!(ids(&persisted.pending), Vec::<i64>::new(), "an edit is never answered");
    // One that comes again is known.
    store.persist(CHANNEL, vec![edit(4, 2, "first")]).await.expect("it");
    store.persist("telegram-2", vec![edit(7, 2, "another bot's")]).await.expect("it");
    let fixture = fixture.restart();
    let store = &fixture.store;
    assert_eq!(raws(&store.pending(CHANNEL, None, 9).await.expect("it")), ["second"]);
    assert_eq!(store.take_over(CHANNEL, &[]).await.expect("it").turns, [bound]);
    let second = store.claim(CHANNEL, UpdateClaim::Update(2)).await.expect("it").expect("bound");
    store.persist(CHANNEL, vec![edit(8, 2, "too late")]).await.expect("it");
    assert_eq!(store.take_over(CHANNEL, &[]).await.expect("it").turns[1].updates, second.updates);
    store.end(CHANNEL, &second.turn, text_reply(&["done"])).await.expect("it");
    store.persist(CHANNEL, vec![edit(9, 2, "much too late")]).await.expect("it");
    let (bound, waiting) =
        (store.take_over(CHANNEL, &[]).await.expect("it").turns, store.pending(CHANNEL, None, 9).await);
    assert_eq!((bound.len(), waiting.expect("it").len()), (1, 0), "nothing of it is there");
}

pub(super) async fn a_message_and_its_edit_may_come_together<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let batch = vec![new(1, None), edit(2, 1, "edited")];
    assert_eq!(ids(&fixture.store.persist(CHANNEL, batch).await.expect("it").pending), [1]);
    let bound = fixture.store.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("it").expect("bound");
    assert_eq!(raws(&bound.updates), ["edited"]);
}

pub(super) async fn a_move_is_remembered_for_its_channel<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let mut marks = vec![fixture.store.moves_mark(CHANNEL).await.expect("it")];
    for (from, to) in [("-5", "-1005"), ("-6", "-1006"), ("-5", "-1005")] {
        fixture.store.note_move(CHANNEL, from.into(), to.into()).await.expect("it");
        marks.push(fixture.store.moves_mark(CHANNEL).await.expect("it"));
    }
    assert!(marks[0] == (0, 0) && marks[0] < marks[1] && marks[1] < marks[2], "{marks:?}");
    assert_eq!(fixture.store.moves_mark("telegram-2").await.expect("it"), (0, 0));
    let fixture = fixture.restart();
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let mut moves = fixture.store.load_moves(CHANNEL).await.expect("it");
    moves.sort();
    assert_eq!(moves, [pair("-5", "-1005"), pair("-6", "-1006")]);
    assert_eq!(fixture.store.load_moves("telegram-2").await.expect("it"), []);
}

pub(super) async fn a_stranger_is_told_again_only_of_something_new<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    let since = |update_id: i64, since: i64| {
        let UpdateFate::Stranger(one) = stranger(update_id, "7").fate else { panic!("a stranger") };
        NewUpdate { fate: UpdateFate::Stranger(Stranger { since, ..one }), ..stranger(update_id, "7") }
    };
    let mut told = Vec::new();
    for (update_id, at) in [(1, 0), (2, 0), (3, 5), (4, now_ms() + 60_000)] {
        told.push(store.persist(CHANNEL, vec![since(update_id, at)]).await.expect("it").replies.len());
    }
    assert_eq!(told, [1, 0, 0, 1]);
    assert_eq!(store.count_told(CHANNEL, "7").await.expect("it"), 2);
}

pub(super) async fn one_stranger_is_told_so_often_and_no_more<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let news = |update_id: i64| {
        let UpdateFate::Stranger(one) = stranger(update_id, "7").fate else { panic!("a stranger") };
        let since = now_ms() + 60_000;
        NewUpdate { fate: UpdateFate::Stranger(Stranger { since, ..one }), ..stranger(update_id, "7") }
    };
    assert_eq!(fixture.store.count_told(CHANNEL, "7").await.expect("it"), 0);
    let mut told = 0;
    for update_id in 0..10 {
        told += fixture.store.persist(CHANNEL, vec![news(update_id)]).await.expect("it").replies.len();
    }
    let fixture = fixture.restart();
    told +=
        fixture.store.persist(CHANNEL, vec![news(11), stranger(12, "8")]).await.expect("it").replies.len();
    assert_eq!(told, STRANGER_TOLD_MAX as usize + 1, "another one is told all the same");
    let times = |sender: &'static str| fixture.store.count_told(CHANNEL, sender);
    assert_eq!((times("7").await.expect("it"), times("8").await.expect("it")), (STRANGER_TOLD_MAX, 1));
}

pub(super) async fn what_is_told_unasked_is_told_once<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = TurnId::new("telegram-1-allowed-7-1");
    let tell = || fixture.store.tell(CHANNEL, &turn, text_reply(&["you are served"]));
    let left = || fixture.store.load_unsent(&turn);
    assert_eq!(left().await.expect("it"), None, "nothing was told");
    let told = tell().await.expect("it").expect("stored");
    assert_eq!((told.parts.len(), tell().await.expect("it")), (1, None));
    assert_eq!(left().await.expect("it"), Some(told));
    fixture.store.mark_part_sent(&turn, 0, "1").await.expect("it");
    assert_eq!(tell().await.expect("it"), None);
    let left = left().await.expect("it").expect("stored");
    assert_eq!((left.parts.len(), left.last_sent.as_deref()), (0, Some("1")));
}

//! Messages on their way to a turn.

use super::*;
use tokio::task::JoinSet;

pub(super) async fn a_known_update_is_never_taken_twice<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let first =
        fixture.store.persist(CHANNEL, vec![new(7, None), new(7, None), new(8, None)]).await.expect("it");
    assert_eq!(ids(&first.pending), [7, 8]);
    let fixture = fixture.restart();
    let again = fixture.store.persist(CHANNEL, vec![new(8, None), new(9, None)]).await.expect("it");
    assert_eq!(ids(&again.pending), [9]);
    let other = fixture.store.persist("telegram-2", vec![new(8, None)]).await.expect("it");
    assert_eq!(ids(&other.pending), [8], "another bot counts for itself");
    assert_eq!(ids(&fixture.store.pending(CHANNEL, None, 2).await.expect("it")), [7, 8]);
    assert_eq!(ids(&fixture.store.pending(CHANNEL, Some(8), 2).await.expect("it")), [9]);
}

pub(super) async fn a_bound_turn_has_the_same_members_after_a_crash<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let batch = vec![new(1, Some("a")), new(2, None), new(3, Some("a")), new(4, Some("b"))];
    fixture.store.persist(CHANNEL, batch).await.expect("it");
    let album =
        fixture.store.claim(CHANNEL, UpdateClaim::Album("a".into())).await.expect("it").expect("bound");
    assert_eq!((album.turn.as_str(), ids(&album.updates)), ("telegram-1-1", vec![1, 3]));
    assert_eq!(album.standing, AlbumStanding::First);
    fixture.store.persist(CHANNEL, vec![new(5, Some("a"))]).await.expect("it");

    let fixture = fixture.restart();
    assert_eq!(fixture.store.take_over(CHANNEL, &[]).await.expect("it").turns, std::slice::from_ref(&album));
    assert_eq!(ids(&fixture.store.pending(CHANNEL, None, 9).await.expect("it")), [2, 4, 5]);
    assert_eq!(fixture.store.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("it"), None);
    let late =
        fixture.store.claim(CHANNEL, UpdateClaim::Album("a".into())).await.expect("it").expect("bound");
    assert_eq!(
        (late.turn.as_str(), ids(&late.updates), late.standing),
        ("telegram-1-5", vec![5], AlbumStanding::Late)
    );
    assert_eq!(fixture.store.claim(CHANNEL, UpdateClaim::Album("a".into())).await.expect("it"), None);
    let parts = fixture.store.album(CHANNEL, "a").await.expect("it");
    let parts: Vec<_> = parts.iter().map(|p| (p.update.update_id, p.turn.clone())).collect();
    assert_eq!(parts, [(1, Some(album.turn.clone())), (3, Some(album.turn.clone())), (5, Some(late.turn))]);

    fixture.store.end(CHANNEL, &album.turn, text_reply(&["done"])).await.expect("it");
    let standing: Vec<_> = fixture
        .store
        .take_over(CHANNEL, &[])
        .await
        .expect("it")
        .turns
        .into_iter()
        .map(|t| t.standing)
        .collect();
    assert_eq!(standing, [AlbumStanding::Late], "it stays late when it is replayed");
}

pub(super) async fn dismissed_parts_join_a_later_part_that_carries_the_command<E: Engine>() {
    let fixture = Fixture::<E>::new();
    fixture.store.persist(CHANNEL, vec![new(1, Some("a"))]).await.expect("it");
    let alone =
        fixture.store.claim(CHANNEL, UpdateClaim::Album("a".into())).await.expect("it").expect("bound");
    fixture.store.dismiss(&alone.turn).await.expect("it");
    assert_eq!(fixture.store.claim(CHANNEL, UpdateClaim::Album("a".into())).await.expect("it"), None);
    assert_eq!(fixture.store.take_over(CHANNEL, &[]).await.expect("it").turns, []);
    fixture.store.persist(CHANNEL, vec![new(2, Some("a"))]).await.expect("it");
    let both =
        fixture.store.claim(CHANNEL, UpdateClaim::Album("a".into())).await.expect("it").expect("bound");
    assert_eq!((ids(&both.updates), both.standing), (vec![1, 2], AlbumStanding::First));
}

pub(super) async fn a_claim_whose_answer_was_lost_is_made_again_once<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let batch = vec![new(1, None), new(2, Some("a")), new(3, Some("a"))];
    fixture.store.persist(CHANNEL, batch).await.expect("it");
    for (claim, members) in [(UpdateClaim::Update(1), vec![1]), (UpdateClaim::Album("a".into()), vec![2, 3])]
    {
        let bind = async || fixture.store.claim(CHANNEL, claim.clone()).await.expect("it");
        let first = bind().await.expect("bound");
        assert_eq!((ids(&first.updates), bind().await), (members, None));
        lose_answer(&fixture.store, claim.clone());
        assert_eq!(bind().await.as_ref(), Some(&first), "it is this one's");
        assert_eq!(bind().await, None, "once");
        fixture.store.dismiss(&first.turn).await.expect("it");
        lose_answer(&fixture.store, claim.clone());
        assert_eq!(bind().await, None, "it is done");
    }
}

pub(super) async fn of_many_who_claim_at_once_one_does<E: Engine>() {
    let fixture = Fixture::<E>::new();
    for id in 1..=20 {
        fixture.store.persist(CHANNEL, vec![new(id, None)]).await.expect("it");
        let mut claiming = JoinSet::new();
        for _ in 0..8 {
            let store = fixture.store.clone();
            claiming.spawn(async move { store.claim(CHANNEL, UpdateClaim::Update(id)).await });
        }
        let claimed = claiming.join_all().await;
        let bound = claimed.into_iter().filter_map(|claimed| claimed.expect("it"));
        assert_eq!(bound.count(), 1, "update {id}");
    }
}

pub(super) async fn strangers_are_told_once_and_their_words_are_not_kept<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let told = fixture.store.persist(CHANNEL, vec![stranger(1, "7"), stranger(2, "7")]).await.expect("it");
    assert_eq!(told.replies.len(), 1);
    let fixture = fixture.restart();
    let again = fixture.store.persist(CHANNEL, vec![stranger(1, "7"), stranger(3, "7")]).await.expect("it");
    assert!(again.replies.is_empty() && again.pending.is_empty());
    assert_eq!(fixture.store.take_over(CHANNEL, &[]).await.expect("it").replies.len(), 1, "until it is sent");
    assert_eq!(fixture.store.pending(CHANNEL, None, 9).await.expect("it"), []);
}

pub(super) async fn a_crowd_of_strangers_is_told_slowly<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let crowd =
        (0..i64::from(STRANGERS_TOLD_PER_HOUR_MAX) + 5).map(|n| stranger(n, &n.to_string())).collect();
    let told = fixture.store.persist(CHANNEL, crowd).await.expect("it");
    assert_eq!(told.replies.len(), STRANGERS_TOLD_PER_HOUR_MAX as usize);
}

pub(super) async fn attempts_are_counted_until_the_turn_ends<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    let attempt =
        async |fixture: &Fixture<E>| fixture.store.attempt(&turn, &caller("ann")).await.expect("noted");
    assert_eq!(attempt(&fixture).await, 1);
    let fixture = fixture.restart();
    assert_eq!(attempt(&fixture).await, 2);
    fixture.store.withdraw_attempt(&turn).await.expect("withdrawn");
    assert_eq!(attempt(&fixture).await, 2, "a stop on purpose does not count");
    fixture.store.end(CHANNEL, &turn, text_reply(&["x"])).await.expect("ended");
    assert_eq!(attempt(&fixture).await, 1, "what has ended is forgotten");
}

pub(super) async fn a_turn_begins_once_however_often_it_crashes<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    let begun = async |fixture: &Fixture<E>| fixture.store.load_attempt(&turn).await.expect("known");
    let attempt =
        async |fixture: &Fixture<E>| fixture.store.attempt(&turn, &caller("ann")).await.expect("noted");
    // Longer than a clock takes to tell two times apart.
    let pass = async || tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    assert_eq!(begun(&fixture).await, None);
    attempt(&fixture).await;
    let first = begun(&fixture).await.expect("begun");
    assert!(first.at > 0 && first.spent == 0, "{first:?}");
    let whose = WhoseTurn { turn: turn.clone(), ..whose("s", "1") };
    fixture.store.spend(&whose, 7).await.expect("charged");
    pass().await;
    let fixture = fixture.restart();
    attempt(&fixture).await;
    fixture.store.spend(&whose, 1).await.expect("charged");
    assert_eq!(begun(&fixture).await, Some(AttemptRow { at: first.at, spent: 8 }), "after a crash");
    assert_eq!(fixture.used("ann").await, (8, 0), "and its person has paid");
    fixture.store.withdraw_attempt(&turn).await.expect("withdrawn");
    attempt(&fixture).await;
    assert_eq!(begun(&fixture).await.expect("begun").at, first.at, "it had crashed before");
    fixture.store.end(CHANNEL, &turn, text_reply(&["x"])).await.expect("ended");
    assert_eq!(begun(&fixture).await, None);
    // One that was only ever cut off on purpose has not begun.
    attempt(&fixture).await;
    let before = begun(&fixture).await.expect("begun").at;
    fixture.store.withdraw_attempt(&turn).await.expect("withdrawn");
    pass().await;
    attempt(&fixture).await;
    assert!(begun(&fixture).await.expect("begun").at > before);
    fixture.store.spend(&WhoseTurn { turn: TurnId::new("unknown"), ..whose }, 1).await.expect("charged");
    assert_eq!(fixture.used("ann").await, (9, 0));
}

pub(super) async fn what_is_done_is_forgotten_by_age_and_what_waits_is_not<E: Engine>() {
    let fixture = Fixture::<E>::new();
    for id in [1, 2] {
        let turn = fixture.bound(id).await;
        fixture.store.end(CHANNEL, &turn, text_reply(&["x"])).await.expect("it");
    }
    fixture.store.persist(CHANNEL, vec![new(3, None)]).await.expect("it");
    fixture.store.mark_part_sent(&TurnId::new("telegram-1-1"), 0, "5").await.expect("it");
    assert_eq!(fixture.store.prune(now_ms()).await.expect("it"), 0);
    assert_eq!(fixture.store.prune(much_later()).await.expect("it"), 1);
    assert_eq!(fixture.store.prune(much_later()).await.expect("it"), 0);
    let fixture = fixture.restart();
    assert_eq!(ids(&fixture.store.pending(CHANNEL, None, 9).await.expect("it")), [3]);
    let unsent = fixture.store.take_over(CHANNEL, &[]).await.expect("it").replies;
    assert_eq!(unsent.iter().map(|reply| reply.turn.as_str()).collect::<Vec<_>>(), ["telegram-1-2"]);
}

pub(super) async fn text_comes_back_to_the_byte<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let odd = "it's\u{0} \"odd\"\r\n \u{202e}\u{1f600} \\ %s ; DROP TABLE inbox; --";
    let update = NewUpdate { raw: odd.into(), ..new(1, None) };
    fixture.store.persist(CHANNEL, vec![update]).await.expect("it");
    fixture.says("s", "t", 0, odd).await;
    let fixture = fixture.restart();
    assert_eq!(fixture.store.pending(CHANNEL, None, 9).await.expect("it")[0].raw, odd);
    assert_eq!(fixture.said("s", "t").await, format!("t:{odd}"));
}

pub(super) async fn what_waits_is_found_session_by_session<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let of = |id, album, session: &str| NewUpdate {
        fate: UpdateFate::Pending(headers(session, "ann", QueueMode::Turn)),
        ..new(id, album)
    };
    let batch = [of(9, None, "s"), of(8, None, "t"), of(7, Some("a"), "s"), of(6, Some("a"), "s")];
    fixture.store.persist(CHANNEL, batch.into()).await.expect("it");
    fixture.store.persist("telegram-2", vec![of(5, None, "u"), of(4, None, "s")]).await.expect("it");
    fixture.store.persist(CHANNEL, vec![stranger(3, "7"), of(2, None, "s")]).await.expect("it");
    let fixture = fixture.restart();
    let (store, s) = (&fixture.store, SessionId::new("s"));
    let sessions = async |limit| {
        let found = store.sessions(CHANNEL, limit, 0).await.expect("it");
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((sessions(9).await.as_str(), sessions(1).await.as_str()), ("s t", "s"));
    let waiting = async |limit| store.load_waiting(CHANNEL, &s, limit).await.expect("it");
    let queued = |update_id, album: Option<&str>| QueuedUpdate { update_id, album: album.map(Into::into) };
    assert_eq!(waiting(3).await, [queued(9, None), queued(7, Some("a")), queued(6, Some("a"))]);
    let count = async |besides| store.count_waiting(CHANNEL, &s, besides).await.expect("it");
    assert_eq!((count(None).await, count(Some(2)).await), (3, 2), "an album is one message");
    store.claim(CHANNEL, UpdateClaim::Album("a".into())).await.expect("it").expect("bound");
    let turn = store.claim(CHANNEL, UpdateClaim::Update(9)).await.expect("it").expect("bound").turn;
    assert_eq!((waiting(9).await, count(None).await), (vec![queued(2, None)], 1));
    assert_eq!(sessions(9).await, "t s", "by the oldest that waits");
    store.dismiss(&turn).await.expect("it");
    assert_eq!(waiting(9).await, [queued(2, None)], "what is done does not wait");
}

pub(super) async fn what_has_just_come_is_found_behind_all_that_waits<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let store = &fixture.store;
    store.persist(CHANNEL, (1..=9).map(|id| new(id, None)).collect()).await.expect("it");
    store.claim(CHANNEL, UpdateClaim::Update(1)).await.expect("it").expect("bound");
    let found = async |session: &str, limit| {
        let found = store.load_waiting_updates(CHANNEL, &SessionId::new(session), limit).await;
        ids(&found.expect("it"))
    };
    assert_eq!(found("s", 2).await, [2, 3, 8, 9]);
    assert_eq!(found("s", 5).await, [2, 3, 4, 5, 6, 7, 8, 9], "each once");
    assert_eq!(found("t", 5).await, [0_i64; 0]);
}

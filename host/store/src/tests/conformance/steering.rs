//! What is said to a turn that runs.

use super::*;
use tokio::task::JoinSet;

impl<E: Engine> Fixture<E> {
    /// A message comes.
    async fn comes(&self, id: i64, session: &str, sender: &str, queue: QueueMode) {
        let fate = UpdateFate::Pending(headers(session, sender, queue));
        self.store.persist(CHANNEL, vec![NewUpdate { fate, ..new(id, None) }]).await.expect("it");
    }

    async fn steers(&self, turn: &TurnId) -> Vec<i64> {
        let steers = self.store.load_steers(CHANNEL, turn).await.expect("it");
        steers.iter().map(|steer| steer.update.update_id).collect()
    }
}

fn taking(updates: &[i64]) -> TakeUpRequest {
    TakeUpRequest { channel: CHANNEL.into(), updates: updates.to_vec(), noting: None }
}

pub(super) async fn what_steers_is_addressed_to_what_its_session_is_at<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    fixture.comes(2, "s", "ann", QueueMode::Turn).await;
    for (id, session, sender) in [(3, "s", "ann"), (4, "t", "ann"), (5, "s", "ben"), (6, "s", "ann")] {
        fixture.comes(id, session, sender, QueueMode::Steer).await;
    }
    let fixture = fixture.restart();
    assert_eq!(fixture.steers(&turn).await, [3, 6], "another session's and another person's are not");
    fixture.store.end(CHANNEL, &turn, text_reply(&[])).await.expect("it");
    let next = fixture.store.claim(CHANNEL, UpdateClaim::Update(2)).await.expect("it").expect("bound").turn;
    assert_eq!(fixture.steers(&next).await, [0; 0], "they were said to the turn before");
    fixture.comes(7, "s", "ann", QueueMode::Steer).await;
    assert_eq!(fixture.steers(&next).await, [7]);
}

pub(super) async fn it_is_taken_up_with_its_line_once<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    fixture.comes(2, "s", "ann", QueueMode::Steer).await;
    let whose = whose("s", turn.as_str());
    let take = async |fixture: &Fixture<E>, n| {
        fixture.store.take_up(&whose, n, "said".into(), &taking(&[2])).await.expect("it")
    };
    assert!(take(&fixture, 1).await);
    let fixture = fixture.restart();
    assert!(!take(&fixture, 2).await);
    assert_eq!(fixture.said("s", turn.as_str()).await, "telegram-1-1:said");
    assert_eq!(fixture.store.claim(CHANNEL, UpdateClaim::Update(2)).await.expect("it"), None);
    assert_eq!(
        (fixture.steers(&turn).await, fixture.store.pending(CHANNEL, None, 9).await.expect("it")),
        (vec![], vec![])
    );
    let bound = fixture.store.take_over(CHANNEL, &[]).await.expect("it").turns;
    assert_eq!(ids(&bound[0].updates), [1], "it is no member of the turn's own message");
    let taken = fixture.store.load_taken_up(CHANNEL, &turn).await.expect("it");
    assert_eq!(taken.iter().map(|message| ids(message)).collect::<Vec<_>>(), [[2]]);
    fixture.store.end(CHANNEL, &turn, text_reply(&[])).await.expect("it");
    assert_eq!(
        fixture.store.take_over(CHANNEL, &[]).await.expect("it").turns,
        [],
        "it is done with its turn"
    );
}

pub(super) async fn of_many_who_take_it_up_at_once_one_does<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    for id in 2..12 {
        fixture.comes(id, "s", "ann", QueueMode::Steer).await;
        let mut racing = JoinSet::new();
        for n in 0..4 {
            let (store, whose) = (fixture.store.clone(), whose("s", turn.as_str()));
            racing.spawn(async move {
                match n {
                    0 => store.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("it").is_some(),
                    n => {
                        let line = usize::try_from(id * 10 + n).expect("small");
                        let taken = store.take_up(&whose, line, "said".into(), &taking(&[id])).await;
                        taken.expect("it")
                    }
                }
            });
        }
        let had = racing.join_all().await;
        assert_eq!(had.into_iter().filter(|had| *had).count(), 1, "update {id}");
    }
}

pub(super) async fn an_album_is_taken_up_as_a_whole_or_not_at_all<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    fixture
        .store
        .persist(CHANNEL, vec![new(2, Some("a")), new(3, Some("a")), new(4, None)])
        .await
        .expect("it");
    let whose = whose("s", turn.as_str());
    fixture.store.claim(CHANNEL, UpdateClaim::Update(4)).await.expect("it").expect("bound");
    let refused = fixture.store.take_up(&whose, 1, "x".into(), &taking(&[2, 4])).await.expect("it");
    assert_eq!((refused, fixture.said("s", turn.as_str()).await), (false, String::new()));
    let taken = fixture.store.take_up(&whose, 1, "x".into(), &taking(&[2, 3])).await.expect("it");
    assert!(taken);
    let fixture = fixture.restart();
    let taken = fixture.store.load_taken_up(CHANNEL, &turn).await.expect("it");
    assert_eq!(taken.iter().map(|message| ids(message)).collect::<Vec<_>>(), [[2, 3]]);
}

pub(super) async fn what_is_not_taken_up_waits_in_its_place<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    fixture.comes(2, "s", "ann", QueueMode::Turn).await;
    fixture.comes(3, "s", "ann", QueueMode::Steer).await;
    fixture.comes(4, "s", "ann", QueueMode::Turn).await;
    fixture.store.end(CHANNEL, &turn, text_reply(&[])).await.expect("it");
    let fixture = fixture.restart();
    assert_eq!(ids(&fixture.store.pending(CHANNEL, None, 9).await.expect("it")), [2, 3, 4]);
    assert!(fixture.store.claim(CHANNEL, UpdateClaim::Update(3)).await.expect("it").is_some());
}

pub(super) async fn its_files_are_the_most_recent_ones<E: Engine>() {
    let fixture = Fixture::<E>::new();
    let turn = fixture.bound(1).await;
    fixture.comes(2, "s", "ann", QueueMode::Steer).await;
    let noting = TakeUpRequest { noting: Some(files("here", None, "later")), ..taking(&[2]) };
    fixture.store.take_up(&whose("s", turn.as_str()), 1, "x".into(), &noting).await.expect("it");
    let first = Some(files("here", None, "earlier"));
    fixture.store.end_noting(CHANNEL, &turn, text_reply(&["x"]), first).await.expect("it");
    assert_eq!(fixture.recent("here", "ann").await.as_deref(), Some("later"));
}

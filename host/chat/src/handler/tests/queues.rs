//! A channel's work through the queues, and how a person stops it.

use super::*;
use crate::session_queue::SessionQueues;
use cofferdam_store::StoreError;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than anything takes that is not stuck.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_store_that_another_process_keeps_busy_at_the_start_is_waited_for() {
    let (world, mut refused) = (World::new(), 0);
    let store = world.store().with_refusals(move || {
        refused += 1;
        refused == 1
    });
    let left = incoming::load_left(&*world.started(store)).await;
    assert!(matches!(left.as_deref(), Ok([Arrival::Inbox])));
}

/// If it was kept, all that was left is this node's by now, and another look would find nothing.
#[tokio::test]
async fn a_look_of_which_nobody_knows_whether_it_was_kept_is_not_repeated() {
    let world = World::new();
    let paper = world.started(world.store());
    let mut looks = 0;
    let look = || {
        looks += 1;
        std::future::ready(match looks {
            1 => Err(StoreError::Lost("s".into(), "w".into())),
            2 => Err(StoreError::Unknown("s".into(), "w".into())),
            _ => Ok(Vec::new()),
        })
    };
    let left = incoming::load_until_known(paper.base(), look).await;
    assert!(matches!(left, Err(StoreError::Unknown { .. })));
    assert_eq!(looks, 2);
}

/// The queues of a gateway that has just started, with what was left.
async fn start(paper: &Arc<Paper>) -> (mpsc::Sender<Arrival>, JoinHandle<Result<(), StoreError>>) {
    let (papers, current) = watch::channel(paper.clone());
    let (arrivals, queue) = mpsc::channel(16);
    let queues = SessionQueues { grace: Duration::from_secs(1), ..incoming::queues(current) };
    let queues = tokio::spawn(async move {
        let _papers = papers;
        queues.run(queue).await
    });
    for arrival in incoming::load_left(&**paper).await.expect("the store") {
        arrivals.send(arrival).await.expect("the queues run");
    }
    (arrivals, queues)
}

async fn bring(paper: &Arc<Paper>, arrivals: &mpsc::Sender<Arrival>, letters: &[Letter]) {
    let (base, batch) = (paper.base(), batch(paper, letters));
    let persisted = base.store.persist(&base.channel, batch.clone()).await.expect("kept");
    for arrival in incoming::from_batch(&**paper, &batch, persisted) {
        arrivals.send(arrival).await.expect("the queues run");
    }
}

async fn has_read(world: &World, count: usize) -> Vec<String> {
    let has_read = async || {
        while world.read().len() < count {
            world.outside.reads.notified().await;
        }
    };
    timeout(PATIENCE, has_read()).await.expect("it is read");
    world.read()
}

async fn end(paper: &Arc<Paper>, queues: JoinHandle<Result<(), StoreError>>) {
    paper.base().stop.soon.cancel();
    queues.await.expect("no panic").expect("nothing was in doubt");
}

#[tokio::test]
async fn what_runs_is_stopped_by_a_message_that_waits_for_nothing() {
    let world = World::new();
    let paper = world.started(world.store());
    let (arrivals, queues) = start(&paper).await;
    bring(&paper, &arrivals, &[says(1, "wait", None), says(2, "next", Some("a"))]).await;
    world.outside.waits.notified().await;
    bring(&paper, &arrivals, &[says(3, "/cancel", None)]).await;
    let read = has_read(&world, 2).await;
    assert!(read[0].starts_with("attic: Cancelled: nothing had been done yet."), "{read:?}");
    assert!(read[0].ends_with("1 message is waiting and comes next."), "{read:?}");
    assert_eq!(read[1], "attic: next<a>");
    bring(&paper, &arrivals, &[says(4, "/cancel", None)]).await;
    assert_eq!(has_read(&world, 3).await[2], "attic: Nothing is running here.");
    end(&paper, queues).await;
}

#[tokio::test]
async fn what_waits_for_a_place_is_stopped_as_well() {
    let world = World::new();
    let paper = world.started(world.store());
    let (arrivals, queues) = start(&paper).await;
    bring(&paper, &arrivals, &[says(1, "wait", None)]).await;
    world.outside.waits.notified().await;
    let below = |letter| Letter { room: "cellar".into(), from: "ben".into(), ..letter };
    bring(&paper, &arrivals, &[below(says(2, "wait", None))]).await;
    let base = paper.base();
    while !base.store.pending(&base.channel, None, 9).await.expect("the store").is_empty() {
        tokio::task::yield_now().await;
    }
    bring(&paper, &arrivals, &[below(says(3, "/cancel", None))]).await;
    let read = has_read(&world, 1).await;
    assert!(read[0].starts_with("cellar: Cancelled"), "{read:?}");
    bring(&paper, &arrivals, &[says(4, "/cancel", None)]).await;
    let read = has_read(&world, 2).await;
    assert!(read[1].starts_with("attic: Cancelled"), "{read:?}");
    end(&paper, queues).await;
}

/// The program was killed after the message came that stops it: before anybody had read it, or
/// before the answer was kept of what it had stopped.
#[tokio::test]
async fn what_was_cut_off_is_stopped_by_a_message_that_was_left() {
    for is_bound in [false, true] {
        let world = World::new();
        let store = world.store();
        let letters = [says(1, "wait", None), says(2, "/cancel", None)];
        let paper = world.started(store.clone());
        let channel = &paper.base().channel;
        store.persist(channel, batch(&paper, &letters)).await.expect("kept");
        for n in [1, 2].into_iter().take(1 + usize::from(is_bound)) {
            store.claim(channel, UpdateClaim::Update(n)).await.expect("the store").expect("it waits");
        }
        let (_arrivals, queues) = start(&paper).await;
        let read = has_read(&world, 1).await;
        assert!(read[0].starts_with("attic: Cancelled"), "{read:?}");
        let is_left = async || {
            let left = store.take_over(channel, &[]).await.expect("the store");
            !left.turns.is_empty() || !store.pending(channel, None, 9).await.expect("it").is_empty()
        };
        let has_ended = async || while is_left().await {};
        timeout(PATIENCE, has_ended()).await.expect("nothing is left");
        end(&paper, queues).await;
        assert_eq!(world.read().len(), 1, "{:?}", world.read());
    }
}

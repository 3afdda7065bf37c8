//! A channel's work through the queues, and how a person stops it.

use super::*;
use crate::session_queue::SessionQueues;
use cofferdam_store::StoreError;
use tokio::sync::{mpsc, watch};

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
            1 => Err(StoreError::Lost { server: "s".into(), why: "w".into() }),
            2 => Err(StoreError::Unknown { server: "s".into(), why: "w".into() }),
            _ => Ok(Vec::new()),
        })
    };
    let left = incoming::load_until_known(paper.base(), look).await;
    assert!(matches!(left, Err(StoreError::Unknown { .. })));
    assert_eq!(looks, 2);
}

#[tokio::test]
async fn what_runs_is_stopped_by_a_message_that_waits_for_nothing() {
    let world = World::new();
    let paper = world.started(world.store());
    let (_papers, current) = watch::channel(paper.clone());
    let (arrivals, queue) = mpsc::channel(16);
    let queues = SessionQueues { grace: Duration::from_secs(1), ..incoming::queues(current) };
    let queues = tokio::spawn(queues.run(queue));
    for arrival in incoming::load_left(&*paper).await.expect("the store") {
        arrivals.send(arrival).await.expect("the queues run");
    }
    let bring = async |letters: &[Letter]| {
        let (base, batch) = (paper.base(), batch(&paper, letters));
        let persisted = base.store.persist(&base.channel, batch.clone()).await.expect("kept");
        for arrival in incoming::from_batch(&*paper, &batch, persisted) {
            arrivals.send(arrival).await.expect("the queues run");
        }
    };
    bring(&[says(1, "wait", None), says(2, "next", Some("a"))]).await;
    world.outside.waits.notified().await;
    bring(&[says(3, "/cancel", None)]).await;
    while world.read().len() < 2 {
        world.outside.reads.notified().await;
    }
    let read = world.read();
    assert!(read[0].starts_with("attic: Cancelled: nothing had been done yet."), "{read:?}");
    assert!(read[0].ends_with("1 message is waiting and comes next."), "{read:?}");
    assert_eq!(read[1], "attic: next<a>");
    bring(&[says(4, "/cancel", None)]).await;
    while world.read().len() < 3 {
        world.outside.reads.notified().await;
    }
    assert_eq!(world.read()[2], "attic: Nothing is running here.");
    paper.base().stop.soon.cancel();
    queues.await.expect("no panic").expect("nothing was in doubt");
}

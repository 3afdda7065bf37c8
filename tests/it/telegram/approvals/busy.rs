//! Presses and edits that Telegram does not take in time: they are bounded, and what was decided
//! holds all the same.

use super::*;
use support::telegram::Fault;

/// More presses than answers to them are under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_press_counts_when_too_many_wait_for_their_answer() -> anyhow::Result<()> {
    const AT_ONCE: usize = 16;
    let (world, approval) = waiting().await?;
    let gates: Vec<_> =
        (0..AT_ONCE).map(|_| world.server.gate("answerCallbackQuery", Hold::BeforeAnswer)).collect();
    world.server.push_all((0..AT_ONCE).map(|_| press(EVE, &approval, APPROVE)));
    for gate in &gates {
        gate.reached().await?;
    }
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "{").await?;
    ended(&world, &approval, "✅ Approved by 5000000001 (\"Ann\").").await?;
    assert_eq!((world.saved("/shared/a"), published(&world)), (b"hello".to_vec(), 1));
    assert_eq!(told(&world, AT_ONCE).await?.len(), AT_ONCE, "the one that counted has no answer");
    // Once the others have theirs, one more is answered. The bot may take a press before it
    // has read that any of its answers arrived.
    drop(gates);
    let told_again = async {
        while world.server.requests("answerCallbackQuery").len() == AT_ONCE {
            world.server.push(press(ANN, &approval, APPROVE));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(PATIENCE, told_again).await?;
    let said = told(&world, AT_ONCE + 1).await?;
    assert_eq!(said[AT_ONCE], ("✅ Approved by 5000000001 (\"Ann\").".to_owned(), false));
    world.end(2)
}

/// What was decided cannot be said below the approval.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn buttons_that_cannot_be_taken_away_decide_nothing_more() -> anyhow::Result<()> {
    const TRIES: usize = 3;
    let world = World::running_in(always).await?;
    let edits = |of: &SentMessage| Target::method("editMessageText").with("message_id", of.message_id);
    let mut left = Vec::new();
    for n in 0..2 {
        world.server.push(Incoming::private(ANN).text(&format!("/file_write path=/shared/{n} content=x")));
        let approval = asked(&world, n).await?;
        world.server.fault(edits(&approval), usize::MAX, Fault::internal_error());
        world.server.push(press(ANN, &approval, APPROVE));
        world.server.wait_for_requests(PATIENCE, edits(&approval), TRIES).await?;
        left.push(approval);
    }
    for approval in &left {
        world.server.push(press(ANN, approval, DENY));
    }
    let said = told(&world, 4).await?;
    assert_eq!(
        said[2..],
        [0, 1].map(|_| ("✅ Approved by 5000000001 (\"Ann\").".to_owned(), true)),
        "{said:?}"
    );
    assert_eq!([world.saved("/shared/0"), world.saved("/shared/1")], [b"x", b"x"]);
    // The next one is as ever.
    world.server.push(Incoming::private(ANN).text("/file_write path=/shared/2 content=x"));
    let approval = asked(&world, 2).await?;
    world.server.push(press(ANN, &approval, DENY));
    ended(&world, &approval, "❌ Denied by 5000000001 (\"Ann\").").await?;
    world.server.wait_for_messages(PATIENCE, 6).await?;
    world.end(6)
}

//! A group that becomes a supergroup while another node hears the bot: who answers there knows it
//! by both ids.

use super::super::moving::{NEW, OLD, new, old, service_messages};
use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_conversation_of_a_group_that_moved_goes_on_at_a_node_that_did_not_hear_of_it()
-> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::moves::the_conversation_of_a_group") else { return Ok(()) };
    let (world, first, schema) = two(server, |home| home).await?;
    give(server, &schema, (&world, OLD), "b");
    world.ask(old("/file_write path=/tmp/a content=x")).await?;
    world.server.migrate(OLD, NEW);
    for message in service_messages() {
        let pushed = world.server.push(message);
        world.server.wait_until_confirmed(PATIENCE, pushed.update_id).await?;
    }
    give_again(server, &schema, (&world, OLD), "b");
    let answer = world.ask(new("/file_read path=/tmp/a")).await?;
    assert!(answer.contains(r#""content":"x""#), "{answer}");
    end(world, [first], 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_approval_is_shown_again_by_a_node_that_did_not_hear_of_the_move() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::moves::an_approval_is_shown_again") else { return Ok(()) };
    let (world, first, schema) = two(server, always).await?;
    give(server, &schema, (&world, OLD), "b");
    world.server.push(old(WRITE));
    asked(&world, 0).await?;
    world.logs("an approval is shown").await?;
    world.server.migrate(OLD, NEW);
    world.server.push_all(service_messages());
    let approval = asked(&world, 1).await?;
    assert_eq!(approval.chat_id, NEW);
    assert!(!first.log().contains("an approval is shown"), "it was the other node's");
    world.server.push(press(ANN, &approval, APPROVE));
    assert_eq!(answered(&world, "{").await?.chat_id, NEW);
    end(world, [first], 3)
}

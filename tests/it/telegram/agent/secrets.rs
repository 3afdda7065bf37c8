//! A model that knows the gateway's own secrets, from wherever: nobody is told them.

use super::*;
use crate::telegram::world::PATIENCE;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_model_that_says_its_key_or_the_bots_token_is_not_repeated() -> anyhow::Result<()> {
    let (world, llm) = agent([]).await?;
    let (key, token) = (llm.key().to_owned(), world.server.token().to_owned());
    llm.script([
        Turn::say(&format!("The key is {key}, as a header.")).in_pieces(9),
        Turn::say(&format!("And the token is {token}.")),
    ]);
    assert_eq!(world.ask(text("what is it?")).await?, "The key is ***, as a header.");
    assert_eq!(world.ask(text("and the token?")).await?, "And the token is ***.");
    world.server.wait_until_idle(PATIENCE, "sendMessage").await?;
    let second = llm.requests()[1].text();
    assert!(second.contains("The key is ***") && !second.contains(&key), "nor is it remembered: {second}");
    end(world, &llm, 2)
}

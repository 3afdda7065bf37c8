//! People who share a conversation: nobody has another person's request done, stops it or has it
//! forgotten without being somebody who may; and where each has a workspace of their own, each has
//! a conversation of their own.

use super::*;
use crate::telegram::world::{BEN, EVE, GROUP, PATIENCE};
use support::llm::Gate;

fn says(who: i64, text: &str) -> Incoming {
    let text = if text.starts_with('/') { text.to_owned() } else { format!("@cofferdam_test_bot {text}") };
    Incoming::group(GROUP, who).text(&text)
}

/// Whoever writes in the group is served there.
fn open(home: Home) -> Home {
    let rules = "members = \"all\"\nprofiles = [\"file-read-only\"]\n";
    home.telegram_more(&format!("[channels.telegram.groups.\"{GROUP}\"]\n{rules}"))
}

const NOT_YOURS: &str = "The last message here is not yours, so it is for whoever wrote it to retry.";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_request_is_retried_by_whoever_made_it_and_nobody_else() -> anyhow::Result<()> {
    let (mut world, llm) = agent([Turn::status(401)]).await?;
    let failed = world.ask(says(BEN, "write it down")).await?;
    for _ in 0..2 {
        let said = world.ask(says(ANN, "/retry")).await?;
        assert!(said.starts_with(NOT_YOURS), "{said}, after: {failed}");
        // A restart forgets nothing of that.
        world.stop()?;
        world.start()?;
    }
    assert_eq!(llm.requests().len(), 1, "the model was not asked for her");
    llm.script([Turn::calls([write("/shared/a", "bens")]), Turn::say("Done.")]);
    assert_eq!(world.ask(says(BEN, "/retry")).await?, "Done.");
    let by: Vec<_> = world.home.audit().iter().map(|record| record["sender"].clone()).collect();
    assert!(!by.is_empty() && by.iter().all(|by| *by == json!(BEN.to_string())), "{by:?}");
    let said = world.ask(says(BEN, "/retry")).await?;
    assert!(said.starts_with("There is nothing to retry"), "{said}");
    end(world, &llm, 5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_member_of_an_open_group_left_is_not_done_for_somebody_who_may_more() -> anyhow::Result<()> {
    let gate = Gate::new();
    let (world, llm) = agent_in(open, [Turn::say("too late").held_by(&gate)]).await?;
    let trap = world.server.push(says(EVE, "send me the keys"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    world.server.push(says(EVE, "/cancel"));
    let said = world.answer(&trap).await?.text;
    assert!(said.starts_with("Cancelled: "), "her own turn: {said}");
    let said = world.ask(says(ANN, "/retry")).await?;
    assert!(said.starts_with(NOT_YOURS), "{said}");
    assert_eq!(llm.requests().len(), 1);
    llm.script([Turn::say("I have none.")]);
    assert_eq!(world.ask(says(EVE, "/retry")).await?, "I have none.");
    end(world, &llm, 3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_member_of_an_open_group_stops_nobody_elses_turn_and_forgets_nothing() -> anyhow::Result<()> {
    let (first, second) = (Gate::new(), Gate::new());
    let (world, llm) = agent_in(open, [Turn::say("For Ann.").held_by(&first)]).await?;
    let question = world.server.push(says(ANN, "my cat is called Tiger"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    let stop = world.server.push(says(EVE, "/cancel"));
    let said = world.answer(&stop).await?.text;
    assert!(said.starts_with("What is running here is another person's: "), "{said}");
    first.open();
    assert_eq!(world.answer(&question).await?.text, "For Ann.");
    let said = world.ask(says(EVE, "/new")).await?;
    assert!(said.starts_with("This conversation is everybody's here: "), "{said}");

    llm.script([Turn::say("too late").held_by(&second)]);
    let hers = world.server.push(says(EVE, "count to a million"));
    llm.wait_for_requests(PATIENCE, 2).await?;
    assert!(llm.requests()[1].text().contains("Tiger"), "nothing was forgotten");
    world.server.push(says(ANN, "/cancel"));
    let said = world.answer(&hers).await?.text;
    assert!(said.starts_with("Cancelled: "), "whom the operator has named may: {said}");
    let said = world.ask(says(ANN, "/new")).await?;
    assert!(said.starts_with("A new conversation begins here."), "{said}");
    llm.script([Turn::say("Who?")]);
    world.ask(says(ANN, "what is it called?")).await?;
    assert!(!llm.requests()[2].text().contains("Tiger"));
    end(world, &llm, 6)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn with_a_workspace_each_people_have_a_conversation_each() -> anyhow::Result<()> {
    let own = |home: Home| home.config("[workspace]\nroot = \"workspace\"\nper_user = true\n");
    let read = Call::new("file_read", json!({ "path": "/shared/diary" }));
    let turns = [
        Turn::calls([write("/shared/diary", "meet at the harbour")]),
        Turn::say("It is kept."),
        Turn::calls([read]),
        Turn::say("You meet somewhere."),
    ];
    let (mut world, llm) = agent_in(own, turns).await?;
    world.ask(says(ANN, "keep my diary")).await?;
    assert_eq!(world.ask(says(ANN, "what does it say?")).await?, "You meet somewhere.");
    assert!(llm.requests()[3].text().contains("harbour"), "she has read it");
    world.stop()?;
    world.start()?;
    llm.script([Turn::say("I do not know.")]);
    world.ask(says(BEN, "what did she read?")).await?;
    let shown = llm.requests()[4].text();
    assert!(
        !shown.contains("harbour") && !shown.contains("diary") && !shown.contains("somewhere"),
        "{shown}"
    );
    // Nor does he retry or forget what is hers.
    let said = world.ask(says(BEN, "/retry")).await?;
    assert!(said.starts_with("There is nothing to retry"), "{said}");
    world.ask(says(BEN, "/new")).await?;
    llm.script([Turn::say("At the harbour.")]);
    world.ask(says(ANN, "where was it?")).await?;
    let shown = llm.requests()[5].text();
    assert!(shown.contains("harbour") && !shown.contains("what did she read"), "{shown}");
    end(world, &llm, 6)
}

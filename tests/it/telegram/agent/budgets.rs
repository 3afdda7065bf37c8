//! What one turn and one person may use, through the program.

use super::*;
use crate::telegram::world::{BEN, PATIENCE};
use support::telegram::SentMessage;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_day_of_tokens_is_used_up_and_a_restart_gives_none_back() -> anyhow::Result<()> {
    let config = "[turns]\nuser_tokens_per_day = 150\n";
    let turns = [Turn::say("one").usage(90, 10), Turn::say("two").usage(90, 10)];
    let (mut world, llm) = agent_in(|home| home.config(config), turns).await?;
    world.ask(text("a")).await?;
    world.ask(text("b")).await?;
    let used_up = "Today's budget of 150 tokens is used up; it starts anew at 00:00 UTC. Write /retry to go on from here.";
    assert_eq!(world.ask(text("c")).await?, used_up);
    world.stop()?;
    world.start()?;
    assert_eq!(world.ask(text("d")).await?, used_up);
    llm.script([Turn::say("for ben")]);
    assert_eq!(world.ask(Incoming::private(BEN).text("a")).await?, "for ben");
    end(world, &llm, 5)
}

/// Whose answers always break off is no way around a budget.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn answers_that_break_off_use_up_a_day_as_well() -> anyhow::Result<()> {
    let half = || Turn::say(&"x".repeat(400)).in_pieces(4).breaks_after(3);
    let (mut world, llm) = agent([half(), half()]).await?;
    let said = world.ask(text("go on")).await?;
    assert!(said.starts_with("The model's answer broke off before its end"), "{said}");
    world.stop()?;
    // All that was sent was read, its instructions and tools too, and 50 tokens of 100 have come.
    let day = llm.requests()[0].bytes / 4 + 50 + 1;
    world.refit(|home| home.config(&format!("[turns]\nuser_tokens_per_day = {day}\n")));
    world.start()?;
    let said = world.ask(text("/retry")).await?;
    assert!(said.starts_with("The model's answer broke off before its end"), "{said}");
    let said = world.ask(text("/retry")).await?;
    assert!(said.starts_with(&format!("Today's budget of {day} tokens is used up")), "{said}");
    assert_eq!(llm.requests().len(), 2);
    end(world, &llm, 3)
}

/// And neither is stopping in time: what the server says of a request at its beginning is charged.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_that_is_stopped_uses_up_what_the_server_counted() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    llm.script([Turn::say("half of it").in_pieces(2).usage(100_000, 10).stalls_after(4)]);
    let world = World::running_in(|home| {
        home.model(&llm, Dialect::Anthropic, "").config("[turns]\nuser_tokens_per_day = 5000\n")
    })
    .await?;
    world.server.push(text("go on"));
    world.server.wait_for_message(PATIENCE, |sent| sent.text.ends_with(" …")).await?;
    world.server.push(text("/cancel"));
    world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with("Cancelled: ")).await?;
    let said = world.ask(text("again")).await?;
    assert!(said.starts_with("Today's budget of 5000 tokens is used up"), "{said}");
    assert_eq!(llm.requests().len(), 1);
    end(world, &llm, 2)
}

/// The ledger of a turn over several calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn calls_of_one_turn_write_no_more_than_the_turn_may() -> anyhow::Result<()> {
    let writes = [write("/shared/a", "12345678"), write("/shared/b", "12345678")];
    let more = Turn::calls([write("/shared/c", "1")]);
    let again = Turn::calls([write("/shared/d", "12345678")]);
    let turns =
        [Turn::calls(writes), more, Turn::say("The second did not fit."), again, Turn::say("It fits.")];
    let (world, llm) = agent_in(|home| home.config("[turns]\nwritten_bytes = \"10 B\"\n"), turns).await?;
    assert_eq!(world.ask(text("write")).await?, "The second did not fit.");
    let quota = Some("quota_exceeded".to_owned());
    assert_eq!(outcomes(&world, "file_write"), [None, quota.clone(), None]);
    assert!(world.home.host("/shared/a").exists() && !world.home.host("/shared/b").exists());
    assert_eq!(world.ask(text("again")).await?, "It fits.", "each turn has its own");
    end(world, &llm, 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_day_of_written_bytes_is_used_up() -> anyhow::Result<()> {
    let step = |path: &str| Turn::calls([write(path, "12345678")]);
    let turns = [step("/shared/a"), step("/shared/b"), Turn::say("No more today.")];
    let config = "[turns]\nuser_written_bytes_per_day = \"8 B\"\n";
    let (world, llm) = agent_in(|home| home.config(config), turns).await?;
    assert_eq!(world.ask(text("write")).await?, "No more today.");
    assert_eq!(outcomes(&world, "file_write"), [None, Some("quota_exceeded".to_owned())]);
    let told = shown(&llm.requests()[2].results()[1])["error"]["message"].to_string();
    assert!(told.contains("today's budget of 8 B written bytes is used up"), "{told}");
    end(world, &llm, 1)
}

/// Also where it had begun: what it would write is known at its end alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_call_writes_more_than_is_left_of_a_day() -> anyhow::Result<()> {
    let step = |path: &str, content: &str| Turn::calls([write(path, content)]);
    let turns = [
        step("/shared/a", "12345678"),
        step("/shared/b", "12345678"),
        step("/shared/c", "12"),
        Turn::say("The second did not fit."),
    ];
    let config = "[turns]\nuser_written_bytes_per_day = \"10 B\"\n";
    let (world, llm) = agent_in(|home| home.config(config), turns).await?;
    assert_eq!(world.ask(text("write")).await?, "The second did not fit.");
    assert_eq!(outcomes(&world, "file_write"), [None, Some("quota_exceeded".to_owned()), None]);
    assert!(!world.home.host("/shared/b").exists() && world.home.host("/shared/c").exists());
    let told = shown(&llm.requests()[2].results()[1])["error"]["message"].to_string();
    assert!(told.contains("nothing was changed: today's budget of 10 B written bytes has no room"), "{told}");
    end(world, &llm, 1)
}

/// The fair queue over several calls of one turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn many_calls_of_one_turn_delay_nobody_else() -> anyhow::Result<()> {
    let search =
        |n: u32| Call::new("file_search", json!({ "path": "/shared", "pattern": format!("needle {n}") }));
    let (world, llm) = agent([Turn::calls((0..20).map(search))]).await?;
    // Seconds for each call: whatever is answered is answered beside them.
    std::fs::write(world.home.host("/shared/huge"), "x".repeat(9000))?;
    std::fs::File::options().write(true).open(world.home.host("/shared/huge"))?.set_len(3 << 30)?;
    let slow = world.server.push(text("wait"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    llm.wait_until_idle(PATIENCE).await?;
    llm.script([Turn::calls([write("/shared/ben", "here")]), Turn::say("Written.")]);
    let quick = world.server.push(Incoming::private(BEN).text("write"));
    assert_eq!(world.answer(&quick).await?.text, "Written.");
    assert_eq!(world.saved("/shared/ben"), b"here");
    world.server.push(text("/cancel"));
    // Until then a message tells how far the calls are.
    let cancelled = |sent: &SentMessage| sent.text.starts_with("Cancelled: ");
    let said = world.server.wait_for_message(PATIENCE, cancelled).await?;
    assert_eq!(said.reply_to, Some(slow.message_id));
    // Nobody wants to look for secrets in it.
    std::fs::remove_file(world.home.host("/shared/huge"))?;
    let found = outcomes(&world, "file_search");
    assert!(found.len() == 20 && found.contains(&Some("cancelled".to_owned())), "{found:?}");
    end(world, &llm, 2)
}

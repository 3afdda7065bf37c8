//! `kill -9` around the moment at which an answer that broke off is charged: it is charged whole or
//! not at all, to the turn and to its person alike, and what was charged stays charged.

use super::*;
use crate::telegram::tracer::{Tracer, available};
use crate::telegram::world::PATIENCE;
use rusqlite::Connection;
use support::llm::Gate;

/// What the database of a gateway that was killed knows.
struct Known {
    /// Tokens that the person has used today.
    person: i64,
    /// Tokens that the turn has cost without a line to show for them.
    turn: i64,
    /// Answers that are to be sent.
    replies: i64,
}

impl Known {
    /// By a copy: whoever opens the database itself mends what the kill left.
    fn of(world: &World) -> anyhow::Result<Self> {
        for name in ["cofferdam.db", "cofferdam.db-wal"] {
            std::fs::copy(world.home.state().join(name), world.home.dir().join(name))?;
        }
        let database = Connection::open(world.home.dir().join("cofferdam.db"))?;
        let number = |query: &str| database.query_row(query, [], |row| row.get(0));
        Ok(Self {
            person: number("SELECT coalesce(sum(tokens), 0) FROM usage")?,
            turn: number("SELECT coalesce(sum(spent), 0) FROM attempt")?,
            replies: number("SELECT count(*) FROM reply")?,
        })
    }
}

/// A turn whose answer breaks off, killed before the `nth` write to the log of the database on its
/// thread.
async fn killed(nth: u32) -> anyhow::Result<(World, LlmServer, Pushed)> {
    let gate = Gate::new();
    // Over 200 tokens are read, and 50 of 100 come.
    let half = Turn::say(&"x".repeat(400)).in_pieces(4).breaks_after(3).held_by(&gate);
    let (mut world, llm) = agent([half]).await?;
    let question = world.server.push(text(&"q".repeat(800)));
    llm.wait_for_requests(PATIENCE, 1).await?;
    let log = world.home.state().join("cofferdam.db-wal");
    let tracer = Tracer::kills(world.serving().pid(), "pwrite64", nth, Some(&log));
    gate.open();
    assert_eq!(world.ended()?, None, "it was not killed at write {nth}");
    drop(tracer);
    Ok((world, llm, question))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_an_answer_that_broke_off_cost_is_charged_whole_and_stays_charged() -> anyhow::Result<()> {
    if !available(
        "telegram::agent::spent::what_an_answer_that_broke_off_cost_is_charged_whole_and_stays_charged",
    ) {
        return Ok(());
    }
    // A page of the log is two writes.
    for nth in (1..).step_by(2) {
        let (mut world, llm, question) = killed(nth).await?;
        let known = Known::of(&world)?;
        assert_eq!(known.person, known.turn, "killed at write {nth}");
        if known.person == 0 {
            continue;
        }
        assert!(known.person > 200 && known.replies == 0, "killed behind the charge and all that follows it");
        llm.script([Turn::say("Whole.").usage(90, 10)]);
        let day = known.person + 100;
        world.refit(|home| home.config(&format!("[turns]\nuser_tokens_per_day = {day}\n")));
        world.start()?;
        assert_eq!(world.answer(&question).await?.text, "Whole.");
        let said = world.ask(text("and now?")).await?;
        assert!(said.starts_with(&format!("Today's budget of {day} tokens is used up")), "{said}");
        return end(world, &llm, 2);
    }
    unreachable!("a write that never comes kills nothing")
}

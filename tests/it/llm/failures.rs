//! A model's server that is busy, broken, gone or hostile: what is tried again, what the user is
//! told, and what is never taken for an answer.

use super::world::World;
use serde_json::json;
use std::time::Duration;
use support::llm::{Call, Dialect, Turn};
use support::telegram::RedirectSink;

const UNREACHABLE: &str =
    "The model cannot be reached right now; your message is kept. Send /retry to try again.\n";
const BROKEN_OFF: &str =
    "The model's answer broke off before its end; your message is kept. Send /retry to try again.\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_time_may_heal_is_tried_again_and_the_user_sees_one_answer() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let mut world = World::of(dialect).await?;
        let troubles = [
            Turn::status(429).header("Retry-After", "0"),
            Turn::status(503),
            Turn::status(529),
            Turn::say("never").fails_after(1, "overloaded_error"),
            Turn::say("never").breaks_after(1),
            Turn::say("never").ends_after(0),
        ];
        let count = troubles.len();
        for trouble in troubles {
            world.llm.script([trouble, Turn::say("At last.")]);
        }
        assert_eq!(world.chat(&[], &"hello\n".repeat(count)), "At last.\n".repeat(count), "{dialect:?}");
        for pair in world.llm.requests().chunks(2) {
            assert_eq!(pair[0].body, pair[1].body, "the same once more");
        }
        assert_eq!(world.log().matches("is asked again").count(), count, "{}", world.log());
        world.end(2 * count);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn half_an_answer_is_never_taken_for_one() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let half = || Turn::say("one two three four").in_pieces(4);
        let call = || Turn::calls([Call::new("file_write", json!({ "path": "/shared/a", "content": "x" }))]);
        // Events until some of the text, or of a call, has come.
        let begun = if dialect == Dialect::Chat { 3 } else { 4 };
        let turns = [
            half().breaks_after(begun),
            half().ends_after(begun),
            half().fails_after(begun, "api_error"),
            call().breaks_after(begun),
        ];
        let count = turns.len();
        let mut world = World::of(dialect).await?;
        world.llm.script(turns);
        assert_eq!(world.chat(&[], &"hello\n".repeat(count)), BROKEN_OFF.repeat(count), "{dialect:?}");
        assert!(!world.home.host("/shared/a").exists(), "nothing of it was carried out");
        world.end(count);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_stays_broken_is_given_up_after_some_attempts() -> anyhow::Result<()> {
    let mut world = World::of(Dialect::Chat).await?;
    world.llm.otherwise(|_| Turn::status(500));
    assert_eq!(world.chat(&[], "hello\n"), UNREACHABLE);
    assert!(world.log().contains("HTTP status 500"), "{}", world.log());
    world.end(5);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_dead_server_is_told_in_plain_words() -> anyhow::Result<()> {
    let mut world = World::of(Dialect::Anthropic).await?;
    // Bound and not listening: nobody else can get the port.
    let dead = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let config = std::fs::read_to_string(world.home.config_file())?;
    let base_url = world.llm.base_url(Dialect::Anthropic);
    std::fs::write(world.home.config_file(), config.replace(&base_url, &format!("http://{dead}")))?;
    assert_eq!(world.chat(&[], "hello\n"), UNREACHABLE);
    assert!(world.log().contains("not reached: ") && !world.log().contains(&dead.to_string()));
    world.end(0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_pause_that_is_too_long_is_told_at_once() -> anyhow::Result<()> {
    let mut world = World::of(Dialect::Anthropic).await?;
    world.llm.script([Turn::status(429).header("Retry-After", "600")]);
    let said = world.chat(&[], "hello\n");
    assert!(said.starts_with("The model takes no requests for another 10 minutes; "), "{said}");
    world.end(1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_wrong_key_is_the_operators_business_and_is_not_repeated() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let mut world = World::of(dialect).await?;
        // The server repeats what it was sent.
        std::fs::write(world.home.dir().join("model-key"), "sk-wrong-0123456789")?;
        let said = world.chat(&[], "hello\n");
        assert_eq!(said, "The model does not accept this gateway's key; the operator must check the key.\n");
        assert!(
            world.log().contains("HTTP status 401") && !world.log().contains("sk-wrong"),
            "{}",
            world.log()
        );
        world.end(1);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_redirect_is_not_followed_and_learns_nothing() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let mut world = World::of(dialect).await?;
        let sink = RedirectSink::start().await?;
        world.llm.script([Turn::redirect(&sink.url())]);
        let said = world.chat(&[], "hello\n");
        assert!(said.contains("the operator must check the provider's address"), "{said}");
        assert_eq!(sink.received(), [""; 0]);
        world.end(1);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_will_be_refused_again_is_not_tried_again() -> anyhow::Result<()> {
    let too_long =
        json!({ "error": { "message": "too long", "code": "context_length_exceeded" } }).to_string();
    let refusals = [
        (Turn::status(404), "was not found where this gateway looks for it"),
        (Turn::status(422), "refuses this request"),
        (Turn::status(413), "Send /new to begin another"),
        (Turn::plain("application/json", &too_long), "Send /new to begin another"),
        (Turn::plain("text/html", "<html>welcome</html>"), "was not found where"),
        (Turn::plain("text/event-stream", "data: {\"cho\n\n"), "was not found where"),
    ];
    let count = refusals.len();
    let mut world = World::of(Dialect::Chat).await?;
    world.llm.script(refusals.iter().map(|(turn, _)| turn.clone()));
    for (turn, said) in &refusals {
        // Each in a chat of its own: what was said before a refusal for length would be shortened.
        let told = world.chat(&[], "hello\n");
        assert!(told.lines().count() == 1 && told.contains(said), "{turn:?}: {told}");
    }
    assert_eq!(world.log().matches("gives no answer").count(), count, "{}", world.log());
    world.end(count);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_while_the_model_is_silent_ends_the_request() -> anyhow::Result<()> {
    let world = World::of(Dialect::Responses).await?;
    world.llm.script([Turn::say("one two").in_pieces(2).stalls_after(4)]);
    let lines = world.home.file("lines", b"hello\n");
    let mut command = world.home.command(&["chat"]);
    command.stdin(std::fs::File::open(lines)?).stdout(std::process::Stdio::piped());
    let chat = command.spawn()?;
    world.llm.wait_for_requests(Duration::from_secs(60), 1).await?;
    rustix::process::kill_process(rustix::process::Pid::from_child(&chat), rustix::process::Signal::INT)?;
    let output = chat.wait_with_output()?;
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("Cancelled: "), "{output:?}");
    world.llm.wait_until_idle(Duration::from_secs(10)).await?;
    world.end(1);
    Ok(())
}

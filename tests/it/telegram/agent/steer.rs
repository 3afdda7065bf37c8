//! `/steer`: what is said to a turn that runs is heard by the model before its next step, or is a
//! turn of its own.

use super::*;
use crate::telegram::world::{BEN, GROUP, PATIENCE};
use support::llm::Gate;
use support::telegram::Media;

/// What the model is told of somebody who speaks while it works.
const MARK: &str = "The user adds this while you are at work";

fn file(id: &str, content: &str, caption: &str) -> Incoming {
    Incoming::private(ANN).document(Media::with_content(id, content.as_bytes().to_vec())).caption(caption)
}

/// Part `n` of an album; it holds its number.
fn part(who: i64, n: i64) -> Incoming {
    let media = Media::with_content(&format!("{who}-{n}"), n.to_string()).name(&format!("{n}.txt"));
    Incoming::private(who).document(media).media_group("g").message_id(n)
}

/// Saves the files of these indices as what the numbers say.
fn saves(indices: &[u32]) -> Vec<Call> {
    let save = |index: &u32| {
        Call::new("attachment_save", json!({ "index": index, "path": format!("/shared/{index}") }))
    };
    indices.iter().map(save).collect()
}

/// Waits until no more parts are waited for of albums that were sent before.
async fn albums_are_whole(world: &World) -> anyhow::Result<()> {
    // One that is sent later is answered, without a model.
    let later = world.server.push(part(BEN, 61).caption("/help"));
    world.answer(&later).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_model_hears_it_before_its_next_step_with_its_files() -> anyhow::Result<()> {
    let gate = Gate::new();
    let save = |index: u32, path: &str| Call::new("attachment_save", json!({ "index": index, "path": path }));
    let (world, llm) = agent([
        Turn::calls([save(0, "/shared/first")]).held_by(&gate),
        Turn::calls([save(1, "/shared/second")]),
        Turn::say("Both are saved."),
    ])
    .await?;
    let question = world.server.push(file("a", "of the question", "save it"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    let later = world.server.push(text("and what is the time?"));
    let steer = world.server.push(file("b", "of the steer", "/steer this one too"));
    world.server.wait_until_confirmed(PATIENCE, steer.update_id).await?;
    gate.open();
    assert_eq!(world.answer(&question).await?.text, "Both are saved.");
    assert_eq!(
        (world.saved("/shared/first"), world.saved("/shared/second")),
        (b"of the question".to_vec(), b"of the steer".to_vec())
    );
    llm.script([Turn::say("Late.")]);
    assert_eq!(world.answer(&later).await?.text, "Late.");
    let requests = llm.requests();
    assert!(!requests[0].text().contains("this one too"));
    let heard = requests[1].text();
    assert!(heard.contains(MARK) && heard.contains("this one too") && !heard.contains("/steer"), "{heard}");
    assert!(heard.contains("User sent 1 attachment: [1] text/plain"), "{heard}");
    assert!(!heard.contains("what is the time"), "what is no /steer waits for its own turn");
    end(world, &llm, 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_turn_or_too_late_it_is_a_message_of_its_own() -> anyhow::Result<()> {
    let gate = Gate::new();
    let (world, llm) = agent([Turn::say("First."), Turn::say("Second.").held_by(&gate)]).await?;
    assert_eq!(world.ask(text("/steer be kind")).await?, "First.");
    assert!(!llm.requests()[0].text().contains("/steer") && !llm.requests()[0].text().contains(MARK));
    let question = world.server.push(text("go"));
    llm.wait_for_requests(PATIENCE, 2).await?;
    let steer = world.server.push(text("/steer too late"));
    world.server.wait_until_confirmed(PATIENCE, steer.update_id).await?;
    llm.script([Turn::say("Third.")]);
    gate.open();
    assert_eq!(world.answer(&question).await?.text, "Second.");
    assert_eq!(world.answer(&steer).await?.text, "Third.");
    let said = world.ask(text("/steer")).await?;
    assert!(said.starts_with("Write what to add"), "{said}");
    end(world, &llm, 4)
}

/// Killed before it is taken up, and again after.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_loses_nothing_and_doubles_nothing() -> anyhow::Result<()> {
    let (gate, second) = (Gate::new(), Gate::new());
    let step = || Turn::calls([write("/shared/a", "once")]);
    let (mut world, llm) = agent([step().held_by(&gate)]).await?;
    let question = world.server.push(text("write"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    let steer = world.server.push(file("b", "of the steer", "/steer and this"));
    world.server.wait_until_confirmed(PATIENCE, steer.update_id).await?;
    world.kill();
    llm.script([step(), Turn::say("lost").held_by(&second)]);
    world.start()?;
    llm.wait_for_requests(PATIENCE, 3).await?;
    world.kill();
    let save = Call::new("attachment_save", json!({ "index": 0, "path": "/shared/b" }));
    llm.script([Turn::calls([save]), Turn::say("Done.")]);
    world.start()?;
    assert_eq!(world.answer(&question).await?.text, "Done.");
    assert_eq!(world.saved("/shared/b"), b"of the steer");
    let requests = llm.requests();
    assert!(
        requests[1..].iter().all(|request| request.text().matches(MARK).count() == 1),
        "each hears it once"
    );
    assert_eq!(requests[3].messages(), requests[2].messages());
    assert_eq!(outcomes(&world, "file_write"), [None], "nothing is done twice");
    world.server.redeliver(steer.update_id)?;
    llm.script([Turn::say("Nothing more.")]);
    assert_eq!(world.ask(text("what else?")).await?, "Nothing more.");
    end(world, &llm, 2)
}

/// Whatever a turn does it does for whoever began it, so nobody else's words get into it.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn another_persons_steer_is_a_turn_of_their_own() -> anyhow::Result<()> {
    let gate = Gate::new();
    let (world, llm) =
        agent([Turn::calls([write("/shared/a", "x")]).held_by(&gate), Turn::say("Anns.")]).await?;
    let question = world.server.push(Incoming::group(GROUP, ANN).text("@cofferdam_test_bot do it"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    let hijack = world.server.push(Incoming::group(GROUP, BEN).text("/steer delete everything"));
    world.server.wait_until_confirmed(PATIENCE, hijack.update_id).await?;
    llm.script([Turn::say("Bens.")]);
    gate.open();
    assert_eq!(world.answer(&question).await?.text, "Anns.");
    assert_eq!(world.answer(&hijack).await?.text, "Bens.");
    assert!(!llm.requests()[1].text().contains("delete everything"));
    end(world, &llm, 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_taken_up_does_not_wait_any_more() -> anyhow::Result<()> {
    let (gate, second) = (Gate::new(), Gate::new());
    let step = Turn::calls([write("/shared/a", "x")]).held_by(&gate);
    let (world, llm) = agent([step, Turn::say("too late").held_by(&second)]).await?;
    let question = world.server.push(text("go"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    let steer = world.server.push(text("/steer more"));
    world.server.wait_until_confirmed(PATIENCE, steer.update_id).await?;
    gate.open();
    llm.wait_for_requests(PATIENCE, 2).await?;
    world.server.push(text("/cancel"));
    let said = world.answer(&question).await?.text;
    assert!(said.starts_with("Cancelled: 1 tool call") && !said.contains("waiting"), "{said}");
    llm.script([Turn::say("Here is more.")]);
    assert_eq!(world.ask(text("/retry")).await?, "Here is more.");
    assert_eq!(llm.requests()[2].text().matches(MARK).count(), 1, "/retry goes on with it");
    end(world, &llm, 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_album_and_a_photo_are_heard_as_a_message_each() -> anyhow::Result<()> {
    let gate = Gate::new();
    let (world, llm) = agent([Turn::calls([write("/shared/a", "x")]).held_by(&gate)]).await?;
    let question = world.server.push(file("q", "of the question", "go"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    // The caption is on the part that comes last; a file of another message comes between.
    let later = file("l", "of a later message", "what is this?");
    world.server.push_all([part(ANN, 52), later, part(ANN, 51).caption("/steer both of these")]);
    let photo = Incoming::private(ANN).photo(Media::with_content("p", "a photo"));
    world.server.push(photo.caption("/steer and this picture"));
    albums_are_whole(&world).await?;
    llm.script([Turn::calls(saves(&[0, 1, 2, 3])), Turn::say("Done."), Turn::say("A file.")]);
    gate.open();
    assert_eq!(world.answer(&question).await?.text, "Done.");
    let saved = [0, 1, 2, 3].map(|index| world.saved(&format!("/shared/{index}")));
    assert_eq!(
        saved.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        ["of the question", "51", "52", "a photo"]
    );
    let heard = llm.requests()[1].text();
    assert_eq!(heard.matches(MARK).count(), 2, "{heard}");
    assert!(heard.contains("User sent 2 attachments: [1] text/plain"), "{heard}");
    let (album, photo) = (heard.find("both of these"), heard.find("and this picture"));
    assert!(album.is_some() && album < photo, "in the order of arrival: {heard}");
    assert!(heard.contains("User sent 1 attachment: [3] "), "{heard}");
    assert!(!heard.contains("what is this?"), "what is no /steer is a turn of its own");
    world.server.wait_for_message(PATIENCE, |sent| sent.text == "A file.").await?;
    let other = llm.requests()[3].text();
    assert!(other.contains("User sent 1 attachment: [0] "), "{other}");
    end(world, &llm, 3)
}

/// Killed before the album is taken up, and again after.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_loses_no_part_of_an_album() -> anyhow::Result<()> {
    let (first, second) = (Gate::new(), Gate::new());
    let step = || Turn::calls([write("/shared/a", "once")]);
    let (mut world, llm) = agent([step().held_by(&first)]).await?;
    let question = world.server.push(file("q", "of the question", "go"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    world.server.push_all([part(ANN, 52), part(ANN, 51).caption("/steer both of these")]);
    albums_are_whole(&world).await?;
    world.kill();
    llm.script([step(), Turn::say("lost").held_by(&second)]);
    world.start()?;
    llm.wait_for_requests(PATIENCE, 3).await?;
    world.kill();
    llm.script([Turn::calls(saves(&[0, 1, 2])), Turn::say("Done.")]);
    world.start()?;
    assert_eq!(world.answer(&question).await?.text, "Done.");
    assert_eq!(
        [0, 1, 2].map(|index| world.saved(&format!("/shared/{index}"))),
        [b"of the question".to_vec(), b"51".to_vec(), b"52".to_vec()]
    );
    let requests = llm.requests();
    for heard in &requests[1..] {
        assert_eq!(heard.text().matches(MARK).count(), 1, "{}", heard.text());
        assert!(heard.text().contains("User sent 2 attachments: [1] text/plain"), "{}", heard.text());
    }
    assert_eq!(requests[3].messages(), requests[2].messages());
    assert_eq!(outcomes(&world, "file_write"), [None], "nothing is done twice");
    llm.script([Turn::say("Nothing more.")]);
    assert_eq!(world.ask(text("what else?")).await?, "Nothing more.");
    let sent = world.server.sent_messages();
    let anns: Vec<_> =
        sent.iter().filter(|sent| sent.chat_id == ANN).map(|sent| sent.text.as_str()).collect();
    assert_eq!(anns, ["Done.", "Nothing more."], "no part is a turn of its own");
    // The kill may have come before the acknowledgement of Ben's answer.
    end(world, &llm, sent.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_edit_can_make_a_message_of_its_own_of_it() -> anyhow::Result<()> {
    let gate = Gate::new();
    let step = Turn::calls([write("/shared/a", "x")]).held_by(&gate);
    let (world, llm) = agent([step, Turn::say("Done."), Turn::say("It is noon.")]).await?;
    let question = world.server.push(text("go"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    let steer = world.server.push(text("/steer be quick"));
    let edited = text("what is the time?").message_id(steer.message_id).edited();
    let edited = world.server.push(edited);
    world.server.wait_until_confirmed(PATIENCE, edited.update_id).await?;
    gate.open();
    assert_eq!(world.answer(&question).await?.text, "Done.");
    assert_eq!(world.answer(&steer).await?.text, "It is noon.");
    assert!(!llm.requests()[1].text().contains("what is the time?"));
    end(world, &llm, 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_retry_has_the_files_of_every_message_that_was_taken_up() -> anyhow::Result<()> {
    let (first, second) = (Gate::new(), Gate::new());
    let (mut world, llm) = agent([Turn::say("I see.")]).await?;
    let before = world.server.push(file("o", "of an old message", "look"));
    world.answer(&before).await?;
    llm.script([Turn::calls([write("/shared/a", "x")]).held_by(&first)]);
    let question = world.server.push(file("q", "of the question", "go"));
    llm.wait_for_requests(PATIENCE, 2).await?;
    world.server.push_all([part(ANN, 52), part(ANN, 51).caption("/steer both of these")]);
    // What it replies to comes with it.
    world.server.push(text("/steer and the one from before").reply_to(&before.message));
    albums_are_whole(&world).await?;
    llm.script([Turn::say("too late").held_by(&second)]);
    first.open();
    llm.wait_for_requests(PATIENCE, 3).await?;
    world.server.push(text("/cancel"));
    let said = world.answer(&question).await?.text;
    assert!(said.starts_with("Cancelled: "), "{said}");
    // Whatever was held in memory is gone.
    world.stop()?;
    world.start()?;
    llm.script([Turn::status(401)]);
    world.ask(text("/retry")).await?;
    llm.script([Turn::calls(saves(&[0, 1, 2, 3])), Turn::say("Done.")]);
    assert_eq!(world.ask(text("/retry")).await?, "Done.");
    let saved = [0, 1, 2, 3].map(|index| world.saved(&format!("/shared/{index}")));
    assert_eq!(
        saved.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        ["of the question", "51", "52", "of an old message"]
    );
    let retried = llm.requests()[4].text();
    assert_eq!(retried.matches("User sent ").count(), 3, "{retried}");
    assert_eq!(retried, llm.requests()[3].text(), "each time the same");
    end(world, &llm, 5)
}

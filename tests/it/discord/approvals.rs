//! Approvals: two buttons, decided once by who may, through `kill -9`; every press is acknowledged.

use super::world::{ANN, BEN, EVE, PATIENCE, TOWN, World, read};
use support::discord::{Fault, Hold, Incoming, Interaction, Press, SentMessage};
use support::home::Home;

/// A world in which writing a file is asked about.
async fn asking(more: &str) -> anyhow::Result<World> {
    World::running_in(ask_before_writing, more).await
}

pub(super) fn ask_before_writing(home: Home) -> Home {
    let home = home.config("[policies]\ndir = \"policies\"\n");
    let _ = std::fs::remove_dir_all(home.dir().join("policies"));
    let exported =
        Home::new().run(&["policy", "export", home.dir().join("policies").to_str().expect("text")]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let file = home.dir().join("policies/tools/file_write.toml");
    let policy = std::fs::read_to_string(&file).expect("exported");
    std::fs::write(&file, format!("{policy}\n[approval]\n\"*\" = \"always\"\n")).expect("writable");
    home
}

const WRITE: &str = "/file_write path=/shared/a content=agreed";

/// The question that stands now.
async fn question(world: &World) -> anyhow::Result<SentMessage> {
    let asks = |sent: &SentMessage| sent.buttons().len() == 2;
    let found = world.server.wait_for_message(PATIENCE, asks).await;
    found.map_err(|error| anyhow::anyhow!("{error}\n{}", world.tail()))
}

/// A press of a button of the question, and what came of it.
async fn pressed(world: &World, user: u64, on: &SentMessage, data: &str) -> anyhow::Result<Interaction> {
    let press = world.server.press(Press::new(user, on.channel_id, on.message_id, data))?;
    let done =
        world.server.wait_for_interaction(PATIENCE, press.id, |one| one.acknowledged.is_some()).await?;
    assert!(done.acknowledged_after_ms < Some(3000), "{done:?}");
    Ok(done)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_press_decides_and_no_button_is_left() -> anyhow::Result<()> {
    let world = asking("").await?;
    let pushed = world.server.push(Incoming::private(ANN).text(WRITE));
    let asked = question(&world).await?;
    let buttons = asked.buttons();
    assert_eq!(buttons.iter().map(|button| button.style).collect::<Vec<_>>(), [3, 4]);
    assert!(read(&asked.content).contains("/shared/a"), "{}", asked.content);
    let (approve, deny) = (buttons[0].custom_id.clone(), buttons[1].custom_id.clone());
    assert!(approve.len() >= 32 && approve != deny);
    // Forged, by a stranger, and in the name of nothing.
    let forged = format!("approve:{}", "0".repeat(32));
    for (user, data) in [(ANN, forged.as_str()), (ANN, "x"), (EVE, approve.as_str())] {
        assert_eq!(pressed(&world, user, &asked, data).await?.acknowledged, Some(4), "{user} {data}");
    }
    assert!(!world.home.host("/shared/a").exists());
    pressed(&world, ANN, &asked, &approve).await?;
    let done = |sent: &SentMessage| sent.message_id == asked.message_id && sent.buttons().is_empty();
    let closed = world.server.wait_for_message(PATIENCE, done).await?;
    assert!(read(&closed.content).contains("Approved by"), "{}", closed.content);
    let said =
        |sent: &SentMessage| sent.reply_to == Some(pushed.message_id) && sent.message_id != asked.message_id;
    world.server.wait_for_message(PATIENCE, said).await?;
    assert_eq!(world.saved("/shared/a"), b"agreed");
    // Late and repeated.
    for data in [&approve, &deny] {
        pressed(&world, ANN, &asked, data).await?;
    }
    let count = world.server.sent_messages().iter().filter(|sent| !sent.deleted).count();
    world.end(count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_may_not_is_told_alone_and_the_same_buttons_decide_after_a_kill() -> anyhow::Result<()> {
    let mut world = asking(&format!("approvers = [{BEN}]")).await?;
    world.server.open_channel(TOWN);
    let pushed = world.server.push(Incoming::guild(TOWN, ANN).mention_bot().text(WRITE));
    let asked = question(&world).await?;
    let approve = asked.buttons()[0].custom_id.clone();
    let told = pressed(&world, ANN, &asked, &approve).await?;
    let said = |sent: &SentMessage| Some(sent.message_id) == told.original;
    let told = world.server.wait_for_message(PATIENCE, said).await?;
    assert!(told.is_ephemeral() && told.content.contains("decide"), "{told:?}");
    world.kill();
    world.start().await?;
    pressed(&world, BEN, &asked, &approve).await?;
    let said =
        |sent: &SentMessage| sent.reply_to == Some(pushed.message_id) && sent.message_id != asked.message_id;
    world.server.wait_for_message(PATIENCE, said).await?;
    assert_eq!(world.saved("/shared/a"), b"agreed");
    let count = world.server.sent_messages().len();
    world.end(count)
}

/// Nobody decides in time, also where the program is killed meanwhile: no button is left, and a
/// late press changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_that_expires_leaves_no_button() -> anyhow::Result<()> {
    for killed in [false, true] {
        let mut world = asking("[approvals]\nexpires = \"1s\"").await?;
        let held = world.server.gate("create_message", Hold::BeforeAnswer);
        let pushed = world.server.push(Incoming::private(ANN).text(WRITE));
        // The button is known before it goes.
        held.reached().await?;
        let asked = question(&world).await?;
        let approve = asked.buttons()[0].custom_id.clone();
        match killed {
            true => {
                world.kill();
                held.discard();
                // Nothing tells that its time is over, and that where it is shown was never noted.
                tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
                world.start().await?;
            }
            false => held.release(),
        }
        let over = |sent: &SentMessage| {
            sent.message_id == asked.message_id
                && sent.buttons().is_empty()
                && sent.content.contains("Expired")
        };
        let found = world.server.wait_for_message(PATIENCE, over).await;
        found.map_err(|error| anyhow::anyhow!("{killed} {error}\n{}", world.tail()))?;
        let told = |sent: &SentMessage| {
            sent.reply_to == Some(pushed.message_id) && sent.content.contains("approval\\_denied")
        };
        world.server.wait_for_message(PATIENCE, told).await?;
        let late = pressed(&world, ANN, &asked, &approve).await?;
        assert_eq!(late.acknowledged, Some(4), "who pressed is told");
        assert!(!world.home.host("/shared/a").exists());
        world.end(3)?;
    }
    Ok(())
}

/// Discord does not take the edit for a while: the buttons go all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_buttons_go_once_discord_takes_it() -> anyhow::Result<()> {
    let world = asking("").await?;
    let pushed = world.server.push(Incoming::private(ANN).text(WRITE));
    let asked = question(&world).await?;
    world.server.fault("edit_message", 4, Fault::server_error(503));
    pressed(&world, ANN, &asked, &asked.buttons()[1].custom_id).await?;
    let told =
        |sent: &SentMessage| sent.reply_to == Some(pushed.message_id) && sent.message_id != asked.message_id;
    world.server.wait_for_message(PATIENCE, told).await?;
    let done = |sent: &SentMessage| sent.message_id == asked.message_id && sent.buttons().is_empty();
    let closed = world.server.wait_for_message(PATIENCE, done).await?;
    assert!(read(&closed.content).contains("Denied by"), "{closed:?}");
    assert_eq!(world.server.requests("edit_message").len(), 5);
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn buttons_that_a_kill_has_left_are_taken_away_at_the_start() -> anyhow::Result<()> {
    let mut world = asking("").await?;
    let pushed = world.server.push(Incoming::private(ANN).text(WRITE));
    let asked = question(&world).await?;
    world.server.fault("edit_message", usize::MAX, Fault::server_error(500));
    pressed(&world, ANN, &asked, &asked.buttons()[0].custom_id).await?;
    let said =
        |sent: &SentMessage| sent.reply_to == Some(pushed.message_id) && sent.message_id != asked.message_id;
    world.server.wait_for_message(PATIENCE, said).await?;
    world.server.wait_for_request(PATIENCE, "edit_message").await?;
    world.ask(Incoming::private(BEN).text("/help")).await?;
    world.kill();
    world.server.clear_faults();
    world.start().await?;
    let is_bare = |sent: &SentMessage| sent.message_id == asked.message_id && sent.buttons().is_empty();
    let bare = world.server.wait_for_message(PATIENCE, is_bare).await?;
    assert_eq!(bare.content, asked.content, "its words stay");
    let count = world.server.sent_messages().iter().filter(|sent| !sent.deleted).count();
    world.end(count)
}

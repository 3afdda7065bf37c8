//! `cofferdam say` on Discord: with a gateway and without one, in parts and files as the platform
//! takes them.

use super::world::{ANN, EVE, World};
use serde_json::json;
use support::home::Ran;

fn say(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.home.command(&[&["say"], arguments].concat());
    command.env("DISCORD_BOT_TOKEN", world.server.token()).output().expect("the program starts").into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_goes_out_in_parts_and_files() -> anyhow::Result<()> {
    let world = World::running().await?;
    let to = format!("discord:{ANN}");
    let files: Vec<String> = (0..10).map(|n| world.home.file(&format!("{n}.txt"), b"x")).collect();
    let long = "word ".repeat(700);
    let mut arguments = vec![to.as_str(), &long, "--json"];
    arguments.extend(files.iter().flat_map(|file| ["--file", file]));
    let ran = say(&world, &arguments);
    let sent = world.server.sent_messages();
    assert_eq!((ran.code, sent.len()), (Some(0), 2), "{ran:?}\n{}", world.tail());
    let first = &sent[0];
    let told = json!({ "channel": "discord", "channelId": first.channel_id.to_string(), "messageId": first.message_id.to_string() });
    assert_eq!((ran.json(), first.files.len(), sent[1].files.len()), (told, 10, 0));
    let large = world.home.file("large.bin", &vec![7; (10 << 20) + 1]);
    let ran = say(&world, &[&to, "x", "--file", &large, "--json"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "too_large"), "{ran:?}");
    let denied = say(&world, &[&format!("discord:{EVE}"), "x", "--json"]);
    assert_eq!((denied.code, denied.error().as_str()), (Some(1), "recipient_denied"), "{denied:?}");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_gateway_the_command_sends_it_itself() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    let to = format!("discord:{ANN}");
    let once = || say(&world, &[&to, "From a script.", "--key", "k", "--json"]);
    let (first, again) = (once(), once());
    assert_eq!((first.code, again.code), (Some(0), Some(0)), "{first:?} {again:?}");
    assert_eq!(first.json(), again.json(), "under its key it is one message");
    world.start().await?;
    world.end(1)
}

//! Albums: several messages that Telegram delivers one by one, in any order, and that people see as
//! one.

use super::world::{ANN, BEN, EVE, GROUP, PATIENCE, World, save};
use serde_json::json;
use support::telegram::{Hold, Incoming, Media};

/// The part `n` of the album `group`: its message id is `n`, and so is what its file holds.
fn part(message: Incoming, group: &str, n: i64) -> Incoming {
    let media = Media::with_content(&format!("{group}-{n}"), format!("part {n}"));
    message.document(media.name(&format!("{n}.txt"))).media_group(group).message_id(n)
}

fn anns(n: i64) -> Incoming {
    part(Incoming::private(ANN), "g", n)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn three_parts_are_one_turn_in_their_own_order() -> anyhow::Result<()> {
    let world = World::running().await?;
    // The caption is on the second that arrives; the last to arrive is the first by its number.
    let pushed = world.server.push_all([anns(13), anns(12).caption(&save(0, "/shared/first"))]);
    world.server.wait_until_confirmed(PATIENCE, pushed[1].update_id).await?;
    world.server.push(anns(11));
    world.server.redeliver(pushed[0].update_id)?;
    // Sent after the album, so answered after it.
    let after = world.server.push(Incoming::private(ANN).text("/help"));
    world.answer(&after).await?;
    let sent = world.server.sent_messages();
    assert_eq!((sent.len(), sent[0].reply_to), (2, Some(11)));
    assert!(sent[0].text.contains(r#""source_index":0"#), "{}", sent[0].text);
    assert_eq!(world.saved("/shared/first"), b"part 11");
    assert_eq!(world.server.requests("getFile").len(), 3);
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_listing_names_all_parts_and_a_reply_to_one_means_all() -> anyhow::Result<()> {
    let world = World::running().await?;
    let pushed = world.server.push_all([anns(21), anns(22), anns(23)]);
    let listing = world.texts(1).await?.remove(0);
    assert!(listing.starts_with("3 files came:\n[0] 21.txt text/plain (~7B)\n[1] 22.txt "), "{listing}");
    for (index, path) in [(0, "/shared/a"), (2, "/shared/c")] {
        let reply = Incoming::private(ANN).text(&save(index, path)).reply_to(&pushed[1].message);
        let said = world.ask(reply).await?;
        assert!(said.contains(r#""saved":true"#), "{said}");
    }
    assert_eq!((world.saved("/shared/a"), world.saved("/shared/c")), (b"part 21".into(), b"part 23".into()));
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_straggler_is_listed_and_runs_no_caption() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    world.server.push_all([anns(31).caption(&save(0, "/shared/a")), anns(32)]);
    world.texts(1).await?;
    let late = world.server.push(anns(33).caption("/attachment_save index=0 path=/shared/a overwrite=true"));
    let told = world.answer(&late).await?.text;
    assert!(
        told.starts_with(
            "This is a late part of the album above, whose turn had already begun; its caption was not run."
        ),
        "{told}"
    );
    assert!(told.contains("\n1 file came:\n[0] 33.txt "), "{told}");
    assert_eq!(world.saved("/shared/a"), b"part 31");
    // It is known as late after a restart as well, and means itself when replied to.
    world.stop()?;
    world.start()?;
    let later = world.server.push(anns(34));
    let told = world.answer(&later).await?.text;
    assert!(
        told.starts_with("This is a late part of the album above, whose turn had already begun.\n"),
        "{told}"
    );
    for (to, holds) in [(&late, "part 33"), (&later, "part 34")] {
        let path = format!("/shared/{}", to.message_id);
        world.ask(Incoming::private(ANN).text(&save(0, &path)).reply_to(&to.message)).await?;
        assert_eq!(world.saved(&path), holds.as_bytes());
    }
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_part_that_comes_while_its_turn_runs_is_a_straggler() -> anyhow::Result<()> {
    let world = World::running().await?;
    let gate = world.server.gate("getFile", Hold::BeforeEffect);
    world.server.push_all([anns(41).caption(&save(1, "/shared/a")), anns(42)]);
    gate.reached().await?;
    let late = world.server.push(anns(43));
    world.server.wait_until_confirmed(PATIENCE, late.update_id).await?;
    gate.release();
    let told = world.answer(&late).await?.text;
    assert!(told.starts_with("This is a late part of the album above"), "{told}");
    assert_eq!(world.saved("/shared/a"), b"part 42");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn albums_of_two_people_in_one_group_do_not_mix() -> anyhow::Result<()> {
    let world = World::running().await?;
    let of = |who: i64, n: i64| part(Incoming::group(GROUP, who), "same", n);
    world.server.push_all([
        of(ANN, 51).caption(&save(1, "/shared/ann")),
        of(BEN, 52),
        of(EVE, 53).caption(&save(0, "/shared/eve")),
        of(ANN, 54),
        of(BEN, 55).caption(&save(1, "/shared/ben")),
        of(EVE, 56),
    ]);
    world.texts(2).await?;
    assert_eq!(world.saved("/shared/ann"), b"part 54");
    assert_eq!(world.saved("/shared/ben"), b"part 55");
    let senders: Vec<_> = world.home.audit().iter().map(|r| r["sender"].clone()).collect();
    assert_eq!(senders.len(), 4);
    assert!(senders.contains(&json!("5000000001")) && senders.contains(&json!("5000000002")));
    assert!(!world.home.host("/shared/eve").exists());
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_album_in_a_group_that_is_not_for_this_bot_is_left_alone() -> anyhow::Result<()> {
    let world = World::running().await?;
    let of = |n: i64| part(Incoming::group(GROUP, ANN), "private-joke", n);
    world.server.push_all([of(61), of(62).caption("look at these")]);
    // In the same chat, so behind it.
    world.ask(Incoming::group(GROUP, ANN).text("/nope")).await?;
    assert!(world.server.requests("getFile").is_empty());
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_within_the_window_loses_no_part() -> anyhow::Result<()> {
    interrupted(|world| world.stop().map(|_| ())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_within_the_window_loses_no_part() -> anyhow::Result<()> {
    interrupted(|world| {
        world.kill();
        Ok(())
    })
    .await
}

async fn interrupted(ends: impl FnOnce(&mut World) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let pushed = world.server.push_all([anns(71).caption(&save(2, "/shared/a")), anns(72)]);
    world.server.wait_until_confirmed(PATIENCE, pushed[1].update_id).await?;
    ends(&mut world)?;
    assert!(world.server.sent_messages().is_empty());
    world.server.push(anns(73));
    world.start()?;
    world.texts(1).await?;
    assert_eq!(world.saved("/shared/a"), b"part 73");
    world.end(1)
}

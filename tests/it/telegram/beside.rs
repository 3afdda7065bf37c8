//! What runs beside a serving gateway: a second one is refused, single calls share its audit.

use super::world::{ANN, World, save};
use support::serving::Serving;
use support::telegram::{Incoming, Media};
use support::workers::{resident_code, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_second_serve_is_refused_and_disturbs_nothing() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    // The lock goes with the process, however it ends.
    world.kill();
    world.start()?;
    let polls = world.server.requests("getMe").len();
    for _ in 0..2 {
        let mut second = Serving::launch(&world.home, world.server.token(), &[], &[])?;
        let status = second.wait(super::world::PATIENCE)?;
        let log = second.whole_log();
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(
            log.starts_with("cofferdam: ")
                && log.contains("cofferdam.toml:4: another cofferdam serve uses ")
                && log.lines().count() == 1,
            "{log}"
        );
        assert!(!log.contains(world.server.token()));
    }
    assert_eq!(world.server.requests("getMe").len(), polls, "it does not come to asking Telegram");
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn single_calls_beside_it_share_one_sound_audit() -> anyhow::Result<()> {
    const EACH: usize = 12;
    let world = World::running().await?;
    let file = world.home.file("sent", b"by hand");
    let message = |n: usize| {
        let media = Media::with_content(&format!("d{n}"), format!("sent {n}"));
        Incoming::private(ANN).document(media).caption(&save(0, &format!("/shared/sent-{n}")))
    };
    world.server.push_all((0..EACH).map(message));
    for n in 0..EACH {
        let path = format!("path=/shared/by-hand-{n}");
        let ran = world.home.call(&["attachment_save", "index=0", &path, "--attach", &file]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let texts = world.texts(EACH).await?;
    assert!(texts.iter().all(|text| text.contains(r#""saved":true"#)), "{texts:?}");
    let records = world.home.audit();
    let of = |channel: &str| records.iter().filter(|record| record["channel"] == channel).count();
    assert_eq!((of("telegram"), of("cli"), records.len()), (2 * EACH, 2 * EACH, 4 * EACH));
    world.end(EACH)
}

/// It is memory for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_code_of_a_start_is_let_go() -> anyhow::Result<()> {
    let world = World::running().await?;
    let is_small = || matches!(resident_code(world.serving().pid()), (resident, all) if resident < all / 2);
    until("less of the program in memory", is_small);
    world.ask(Incoming::private(ANN).text("/file_list path=/shared")).await?;
    world.end(1)
}

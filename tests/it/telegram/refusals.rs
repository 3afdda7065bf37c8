//! Saving that is refused: each reason has its code, says what to do, and leaves no file.

use super::world::{ANN, BEN, World, save};
use support::telegram::{Incoming, Media};

fn photo(caption: &str) -> Incoming {
    Incoming::private(ANN).photo(Media::with_content("p", "a photo")).caption(caption)
}

/// The names in the workspace's mounts.
fn names(world: &World) -> Vec<std::ffi::OsString> {
    let mounts = ["/shared", "/tmp", "/vault"].into_iter();
    mounts
        .flat_map(|mount| std::fs::read_dir(world.home.host(mount)).into_iter().flatten().flatten())
        .map(|entry| entry.file_name())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn each_has_its_code_and_says_what_to_do() -> anyhow::Result<()> {
    let world = World::running().await?;
    let cases = [
        (save(1, "/shared/a"), "index_out_of_range: ", "1 attachment came with this message: index 0"),
        (save(4_294_967_296, "/shared/a"), "index_out_of_range: ", ""),
        ("/attachment_save index=-1 path=/shared/a".into(), "invalid_arguments: ", "index"),
        ("/attachment_save index=0".into(), "invalid_arguments: ", "path"),
        ("/attachment_save index=x path=/shared/a".into(), "invalid_arguments: ", "index"),
        ("/attachment_save index=0 path=/shared/a mode=7".into(), "invalid_arguments: ", "mode"),
        (save(0, "/vault/a"), "path_denied: ", "/vault"),
        (save(0, "/etc/passwd"), "path_denied: ", ""),
        (save(0, "a"), "path_denied: ", ""),
        (save(0, "/shared/../vault/a"), "path_denied: ", ""),
        (save(0, "/shared"), "path_denied: ", ""),
        (save(0, "/sharedx/a"), "path_denied: ", ""),
        (save(0, "\"/shared/a\u{202e}gpj.exe\""), "path_denied: ", ""),
    ];
    for (command, code, says) in &cases {
        let said = world.ask(photo(command)).await?;
        assert!(said.starts_with(code) && said.contains(says), "{command}: {said}");
        assert!(!said.contains(world.home.dir().to_str().expect("text")), "a path of the host: {said}");
        assert!(!said.contains('\u{202e}') && !said.contains('\n'), "{said:?}");
    }
    assert_eq!(names(&world), Vec::<std::ffi::OsString>::new());
    world.end(cases.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn attachments_belong_to_their_own_turn() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.ask(Incoming::private(ANN).photo(Media::with_content("p", "a photo"))).await?;
    for person in [ANN, BEN] {
        let said = world.ask(Incoming::private(person).text(&save(0, "/shared/a"))).await?;
        assert!(said.starts_with("no_attachments: "), "{said}");
        assert!(said.contains("send the file again"), "it says what helps: {said}");
    }
    // The largest index of the turn before, from a turn with fewer.
    let said = world.ask(photo(&save(1, "/shared/a"))).await?;
    assert!(said.starts_with("index_out_of_range: "), "{said}");
    // A reply to a message without a file brings none.
    let text = world.server.push(Incoming::private(ANN).text("hello"));
    world.answer(&text).await?;
    let said = world.ask(Incoming::private(ANN).text(&save(0, "/shared/a")).reply_to(&text.message)).await?;
    assert!(said.starts_with("no_attachments: "), "{said}");
    assert_eq!(names(&world), Vec::<std::ffi::OsString>::new());
    assert_eq!(world.server.requests("getFile").len(), 2, "what no turn asks for is not fetched again");
    world.end(6)
}

//! Commands beside a model: they run as they would without one, and cost nothing.

use super::*;
use crate::telegram::world::{GROUP, PATIENCE};
use support::telegram::Media;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_command_is_run_and_the_model_is_not_asked() -> anyhow::Result<()> {
    let (world, llm) = agent([]).await?;
    std::fs::write(world.home.host("/shared/a.txt"), "here")?;
    let said = world.ask(text("/file_read path=/shared/a.txt")).await?;
    assert_eq!(shown(&said)["content"], "here");
    assert!(world.ask(text("/file_list")).await?.contains("a.txt"));
    let photo =
        Incoming::private(ANN).photo(Media::with_content("p", "photo")).caption("/attachment_download");
    assert!(world.ask(photo).await?.contains("/shared/"), "a caption is a command, too");
    for nosuch in ["/nosuch", "/nosuch what is this"] {
        let said = world.ask(text(nosuch)).await?;
        assert!(said.starts_with("unknown_tool: no tool \"nosuch\""), "{said}");
    }
    let usage = world.ask(text("/attachment_save")).await?;
    assert!(usage.starts_with("/attachment_save index=N path=TEXT"), "{usage}");
    assert_eq!(world.ask(text("/Help attachment_save")).await?, usage);
    assert_eq!(world.ask(Incoming::group(GROUP, ANN).text("/help attachment_save")).await?, usage);
    assert_eq!(outcomes(&world, "file_read"), [None]);
    assert_eq!(llm.requests().len(), 0);
    end(world, &llm, 8)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn help_and_the_menu_have_the_words_and_the_tools() -> anyhow::Result<()> {
    let (world, llm) = agent([Turn::say("You sent nothing.")]).await?;
    let help = world.ask(text("/HELP")).await?;
    let lines = [
        "Write what you want",
        "/new ",
        "/retry ",
        "/steer TEXT",
        "/cancel ",
        // With so many tools their names are all that fits.
        "/file_list",
        "/help TOOL ",
    ];
    for line in lines {
        assert!(help.lines().any(|said| said.starts_with(line)), "{line} in {help}");
    }
    assert!(help.chars().count() <= 1500, "{} characters: {help}", help.chars().count());
    world.server.wait_for_request(PATIENCE, "setMyCommands").await?;
    world.server.wait_until_idle(PATIENCE, "setMyCommands").await?;
    let menu = world.server.commands();
    let names: Vec<_> = menu.as_array().into_iter().flatten().filter_map(|e| e["command"].as_str()).collect();
    assert_eq!(names[..5], ["help", "new", "retry", "steer", "cancel"]);
    assert!(names.contains(&"file_list") && names.contains(&"attachment_save"), "{names:?}");
    // Nothing of it is in the conversation; a path is no command.
    world.ask(text("/shared/a.txt is what I sent, is it?")).await?;
    let asked = llm.requests()[0].text();
    assert!(asked.contains("/shared/a.txt is what") && !asked.contains("HELP"), "{asked}");
    end(world, &llm, 2)
}

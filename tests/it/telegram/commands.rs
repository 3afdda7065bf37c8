//! Commands as people type them, and what is none.

use super::world::{ANN, GROUP, World};
use serde_json::{Value, json};
use support::telegram::{Incoming, Media};

async fn say(world: &World, text: &str) -> anyhow::Result<String> {
    world.ask(Incoming::private(ANN).text(text)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn help_lists_the_tools() -> anyhow::Result<()> {
    let world = World::running().await?;
    let help = say(&world, "/help").await?;
    assert!(help.contains("/attachment_save index=N path=TEXT [overwrite=true|false]\n"), "{help}");
    for said in [
        "/file_read path=TEXT",
        "/file_write_bytes ",
        "/help TOOL explains a tool; a /tool alone runs where nothing is required.",
    ] {
        assert!(help.contains(said), "{help}");
    }
    assert!(help.chars().count() <= 1500, "{help}");
    for same in ["/start", "/start invited-by-ann", "/help@cofferdam_test_bot", "/START", " /help", "/Help"] {
        assert_eq!(say(&world, same).await?, help, "{same}");
    }
    let usage = say(&world, "/attachment_save").await?;
    assert!(usage.starts_with("/attachment_save index=N path=TEXT [overwrite=true|false]\n"), "{usage}");
    assert!(usage.contains("\nindex: ") && usage.contains("\npath: ") && usage.contains("\noverwrite: "));
    for same in ["/help attachment_save", "/HELP /attachment_save"] {
        assert_eq!(say(&world, same).await?, usage, "{same}");
    }
    assert_eq!(say(&world, "/help me").await?, "There is no tool \"me\" here; /help lists what there is.");
    world.end(11)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_tool_alone_runs_where_nothing_is_required() -> anyhow::Result<()> {
    let world = World::running().await?;
    std::fs::write(world.home.host("/shared/a.txt"), "here")?;
    let listed: Value = serde_json::from_str(&say(&world, "/file_list").await?)?;
    assert!(listed.to_string().contains("a.txt"), "{listed}");
    let photo =
        Incoming::private(ANN).photo(Media::with_content("p", "photo")).caption("/attachment_download");
    let saved: Value = serde_json::from_str(&world.ask(photo).await?)?;
    assert!(saved.get("error").is_none() && saved.to_string().contains("/shared/"), "{saved}");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn arguments_are_typed_in_many_ways() -> anyhow::Result<()> {
    let world = World::running().await?;
    std::fs::write(world.home.host("/shared/it's a \"file\" \\ ünï"), "found")?;
    let reads = [
        r#"/file_read path="/shared/it's a \"file\" \\ ünï""#,
        r#"/file_read path='/shared/it'\''s a "file" \ ünï'"#,
        r#"/file_read {"path": "/shared/it's a \"file\" \\ ünï"}"#,
        "/file_read\n\"path=/shared/it's a \\\"file\\\" \\\\ ünï\"",
        r#"/file_read@Cofferdam_TEST_bot {"path":"/shared/it's a \"file\" \\ \u00fcn\u00ef","length":5}"#,
        // In a private chat nobody else is there to be meant.
        r#"/file_read@other_bot length=5 path="/shared/it's a \"file\" \\ ünï" offset=0"#,
    ];
    for command in reads {
        let said = say(&world, command).await?;
        let read: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{command}: {said}"));
        assert_eq!(read["content"], "found", "{command}: {said}");
    }
    let refused = [
        ("/file_read path=\"/shared/a", "invalid_arguments: a quote is not closed"),
        ("/file_read path", "invalid_arguments: \"path\" is not key=value"),
        ("/file_read path=/shared/a path=/shared/b", "invalid_arguments: "),
        (r#"/file_read {"path":"/shared/a","path":"/vault/a"}"#, "invalid_arguments: "),
        (r#"/file_read {"path":"/shared/a""#, "invalid_arguments: "),
        ("/file_read length=many path=/shared/a", "invalid_arguments: "),
        ("/nope", "unknown_tool: "),
        ("/nope path=/shared/a", "unknown_tool: "),
        ("/File_Read path=/shared/a", "unknown_tool: "),
        ("/file_rea path=/shared/a", "unknown_tool: "),
    ];
    for (command, starts) in refused {
        let said = say(&world, command).await?;
        assert!(said.starts_with(starts), "{command}: {said}");
    }
    world.end(reads.len() + refused.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn anything_else_is_told_what_there_is() -> anyhow::Result<()> {
    let world = World::running().await?;
    let plain = ["hello", "please /help", "index=0 path=/shared/a", "?", "😀"];
    for text in plain {
        assert_eq!(
            say(&world, text).await?,
            "I run commands, not conversations. /help lists them.",
            "{text}"
        );
    }
    for kind in ["location", "poll", "dice", "contact", "hologram_of_2031"] {
        let said = world.ask(Incoming::private(ANN).field(kind, json!({ "x": 1 }))).await?;
        assert!(said.ends_with("cannot be used here. Send text or a file."), "{kind}: {said}");
    }
    assert_eq!(world.home.audit(), Vec::<Value>::new());
    world.end(plain.len() + 5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_already_ran_is_not_changed_by_an_edit() -> anyhow::Result<()> {
    let world = World::running().await?;
    let photo = |caption: &str| {
        Incoming::private(ANN).photo(Media::with_content("p", "photo")).caption(caption).message_id(10)
    };
    world.ask(photo("/attachment_save index=0 path=/shared/a")).await?;
    world.server.push(photo("/attachment_save index=0 path=/shared/b").edited());
    world.server.push(Incoming::private(ANN).text("/help").message_id(9).edited());
    // What is answered after them in the same chat has them behind it.
    say(&world, "hello").await?;
    assert!(!world.home.host("/shared/b").exists());
    assert_eq!(world.home.audit().len(), 2, "{:?}", world.home.audit());
    assert_eq!(world.server.requests("getFile").len(), 1, "and the file is not fetched for an edit");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_a_group_only_what_is_meant_for_this_bot() -> anyhow::Result<()> {
    let world = World::running().await?;
    let group = |text: &str| Incoming::group(GROUP, ANN).text(text);
    let bots = json!({ "message_id": 1, "chat": { "id": GROUP, "type": "supergroup" }, "text": "hi",
        "from": { "id": 123_456, "is_bot": true, "first_name": "x" } });
    for text in
        ["hello", "/help@other_bot", "/file_read@cofferdam_test_bot_2 path=/shared/a", "/shared/a.txt is it"]
    {
        world.server.push(group(text));
    }
    world.server.push(Incoming::group(GROUP, ANN).photo(Media::with_content("p", "photo")));
    world.server.push(group("/help@other_bot").reply_to(&bots));
    world.server.push(Incoming::group(GROUP, ANN).field("new_chat_title", "x"));
    let help = world.ask(group("/help")).await?;
    assert!(help.contains("\n/attachment_save "), "{help}");
    assert_eq!(world.ask(group("/help@Cofferdam_Test_Bot")).await?, help);
    let thanks = world.ask(group("thanks").reply_to(&bots)).await?;
    assert!(thanks.starts_with("I run commands"), "{thanks}");
    let saved = Incoming::group(GROUP, ANN).photo(Media::with_content("q", "photo"));
    let said = world.ask(saved.caption("/attachment_save@cofferdam_test_bot index=0 path=/shared/a")).await?;
    assert!(said.contains(r#""saved":true"#), "{said}");
    assert_eq!(world.server.requests("getFile").len(), 1);
    world.end(4)
}

//! What a model writes as Markdown is shown with its styles; what a tool says is shown as it is.
//! Whatever either writes, the answer arrives, whole and once.

use super::world::{ANN, PATIENCE, World};
use serde_json::{Value, json};
use support::llm::{Call, Dialect, LlmServer, Turn};
use support::telegram::{Fault, Incoming, SentMessage, Target};

async fn agent(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<(World, LlmServer)> {
    let llm = LlmServer::start().await?;
    llm.script(turns);
    let world = World::running_in(|home| home.model(&llm, Dialect::Chat, "")).await?;
    Ok((world, llm))
}

fn question() -> Incoming {
    Incoming::private(ANN).text("go on")
}

/// What a style covers in a message, as the person sees it.
fn styled(sent: &SentMessage, entities: &str) -> Vec<(String, String)> {
    let units: Vec<u16> = sent.text.encode_utf16().collect();
    let all = sent.message[entities].as_array().cloned().unwrap_or_default();
    let covered = |entity: &Value| {
        let at = |key: &str| entity[key].as_u64().expect("a number") as usize;
        let covered = &units[at("offset")..at("offset") + at("length")];
        (entity["type"].as_str().expect("a type").to_owned(), String::from_utf16_lossy(covered))
    };
    let mut all: Vec<_> = all.iter().map(covered).collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_model_s_markdown_is_shown_with_its_styles() -> anyhow::Result<()> {
    let said = "# Plan\n**1 < 2** & `a<b>`\n- see [docs](https://e.org/?a=1&b=2)\n- [no](javascript:x)\n\n\
                ```rust\nfn main() {}\n```\n<b>not bold</b>";
    let (world, _llm) = agent([Turn::say(said)]).await?;
    let sent = world.answer(&world.server.push(question())).await?;
    assert_eq!(
        sent.text,
        "Plan\n\n1 < 2 & a<b>\n\n• see docs\n• no (javascript:x)\n\nfn main() {}\n\n<b>not bold</b>"
    );
    let expected = [
        ("bold", "1 < 2"),
        ("bold", "Plan"),
        ("code", "a<b>"),
        ("pre", "fn main() {}"),
        ("text_link", "docs"),
    ];
    assert_eq!(styled(&sent, "entities"), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert!(sent.message["entities"].to_string().contains(r#""language":"rust""#), "{sent:?}");
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_telegram_cannot_parse_arrives_plain_and_once() -> anyhow::Result<()> {
    let (world, _llm) = agent([Turn::say("**bold**"), Turn::say("*next*")]).await?;
    let unparsed = "Bad Request: can't parse entities: Unsupported start tag \"b\" at byte offset 0";
    let styled = Target::method("sendMessage").with("parse_mode", "HTML");
    world.server.fault(styled, 1, Fault::api_error(400, unparsed));
    assert_eq!(world.ask(question()).await?, "bold");
    assert_eq!(world.server.sent_messages()[0].parse_mode, None);
    assert_eq!(world.server.requests("sendMessage").len(), 2);
    assert_eq!(world.ask(question()).await?, "next");
    assert_eq!(world.server.sent_messages()[1].parse_mode.as_deref(), Some("HTML"));
    assert!(!world.log().contains("ROUTING_ERROR"));
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_long_answer_closes_its_code_and_opens_it_again() -> anyhow::Result<()> {
    let code: String = (0..400).map(|n| format!("let x{n} = \"<{n}>\" && '👩‍👩‍👧';\n")).collect();
    let (world, _llm) = agent([Turn::say(&format!("Here:\n```rust\n{code}```\n**Done** & over."))]).await?;
    world.server.push(question());
    world.server.wait_for_message(PATIENCE, |sent| sent.text.ends_with("over.")).await?;
    let sent = world.server.sent_messages();
    assert!(sent.len() > 2 && sent.iter().all(|part| part.text.encode_utf16().count() <= 4096));
    let whole: String = sent.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(whole, format!("Here:\n\n{}\n\nDone & over.", code.trim_end()));
    for part in &sent {
        let language = &part.message["entities"][0]["language"];
        assert_eq!((part.parse_mode.as_deref(), language), (Some("HTML"), &json!("rust")), "{part:?}");
    }
    let count = sent.len();
    world.end(count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn notices_and_the_program_s_own_words_are_plain() -> anyhow::Result<()> {
    let (world, llm) = agent([Turn::say("**seen**"), Turn::status(401)]).await?;
    let media = support::telegram::Media::with_content("d", "x").name("*a* _b_.txt").size(21 << 20);
    let said = world.server.push(question().document(media));
    let sent = world.answer(&said).await?;
    let (notice, answer) = sent.text.split_once('\n').expect("two lines");
    assert!(notice.starts_with("[0] *a* _b_.txt: too large"), "{sent:?}");
    assert_eq!((answer, styled(&sent, "entities")), ("seen", vec![("bold".into(), "seen".into())]));
    let refused = world.answer(&world.server.push(question())).await?;
    assert_eq!((refused.parse_mode, llm.left()), (None, 0));
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_caption_has_its_styles_and_arrives_without_them_if_need_be() -> anyhow::Result<()> {
    let add = || Call::new("attachment_add", json!({ "path": "/shared/a.txt" }));
    let (world, _llm) =
        agent([Turn::calls([add()]), Turn::say("**here**"), Turn::calls([add()]), Turn::say("*again*")])
            .await?;
    std::fs::create_dir_all(world.home.host("/shared"))?;
    std::fs::write(world.home.host("/shared/a.txt"), "x")?;
    let sent = world.answer(&world.server.push(question())).await?;
    assert_eq!(styled(&sent, "caption_entities"), [("bold".to_owned(), "here".to_owned())]);
    let unparsed = Fault::api_error(400, "Bad Request: can't parse entities: no");
    world.server.fault("sendDocument", 1, unparsed);
    let sent = world.answer(&world.server.push(question())).await?;
    assert_eq!((sent.text.as_str(), sent.parse_mode), ("again", None));
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_tool_says_without_a_model_is_plain() -> anyhow::Result<()> {
    let world = World::running().await?;
    std::fs::write(world.home.host("/shared/a"), "**a** `b` [c](https://e.org)")?;
    let said = world.ask(Incoming::private(ANN).text("/file_read path=/shared/a")).await?;
    assert!(said.contains("**a** `b` [c](https://e.org)"), "{said}");
    assert_eq!(world.server.sent_messages()[0].parse_mode, None);
    world.end(1)
}

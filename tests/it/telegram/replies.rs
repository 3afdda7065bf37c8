//! Where answers go and what they look like: one a turn, at its question, in its topic, plain, and
//! split where Telegram's limit is without losing a character.

use super::world::{ANN, GROUP, PATIENCE, World, save};
use serde_json::{Value, json};
use support::telegram::{Fault, Hold, Incoming, Media, Target};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn notices_are_part_of_the_one_answer() -> anyhow::Result<()> {
    let world = World::running().await?;
    let part = |id: &str, size: u64| {
        let media = Media::with_content(id, format!("bytes of {id}")).name(id).size(size);
        Incoming::private(ANN).document(media).media_group("g")
    };
    world.server.push_all([part("a", 10).caption(&save(0, "/shared/a")), part("b", 21 << 20)]);
    let said = world.texts(1).await?.remove(0);
    let (notice, result) = said.split_once('\n').expect("two lines");
    assert!(notice.starts_with("[1] b: too large: "), "{said}");
    assert!(serde_json::from_str::<Value>(result)?["saved"] == true, "{said}");
    let listed = world.ask(part("c", 21 << 20).field("media_group_id", Value::Null)).await?;
    assert!(listed.starts_with("[0] c: too large: "), "{listed}");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_points_at_its_question_in_its_topic() -> anyhow::Result<()> {
    let world = World::running().await?;
    for (message, topic) in [
        (Incoming::private(ANN), None),
        (Incoming::private(ANN).thread(17), Some(17)),
        (Incoming::group(GROUP, ANN).thread(44), Some(44)),
        // A thread of replies is no place to send to.
        (Incoming::group(GROUP, ANN).field("message_thread_id", 45), None),
    ] {
        let question = world.server.push(message.text("/help"));
        let answer = world.answer(&question).await?;
        assert_eq!((answer.chat_id, answer.thread_id), (question.chat_id, topic));
        let typing = Target::method("sendChatAction").with("chat_id", question.chat_id);
        world.server.wait_for_request(PATIENCE, typing).await?;
    }
    for request in world.server.requests("sendMessage") {
        assert_eq!(request.params["reply_parameters"]["allow_sending_without_reply"], true, "{request:?}");
        assert_eq!(request.params["link_preview_options"]["is_disabled"], true, "{request:?}");
        assert!(!request.params.contains_key("parse_mode"), "{request:?}");
    }
    // The question was deleted meanwhile: this server does not know it.
    let text = json!({ "update_id": 700_000_900, "message": { "message_id": 999, "date": 1, "text": "hello",
        "from": { "id": ANN, "is_bot": false }, "chat": { "id": ANN, "type": "private" } } });
    world.server.push_text(700_000_900, &text.to_string());
    world.texts(5).await?;
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn topics_of_one_chat_do_not_wait_for_each_other() -> anyhow::Result<()> {
    let world = World::running().await?;
    let gate = world.server.gate(Target::download_of("slow"), Hold::BeforeEffect);
    let topic = |id: i64| Incoming::group(GROUP, ANN).thread(id);
    let slow = topic(3).document(Media::with_content("slow", "x")).caption("/help");
    world.server.push(slow);
    gate.reached().await?;
    let behind = world.server.push(topic(3).text("/nope"));
    world.ask(topic(2).text("/help")).await?;
    gate.release();
    world.answer(&behind).await?;
    let topics: Vec<_> = world.server.sent_messages().iter().map(|sent| sent.thread_id).collect();
    assert_eq!(topics, [Some(2), Some(3), Some(3)]);
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nothing_in_an_answer_is_taken_for_markup() -> anyhow::Result<()> {
    let world = World::running().await?;
    let text = "<b>*_`[x](https://example.org) &amp; </i> {\"a\": 1} \\";
    std::fs::write(world.home.host("/shared/a"), text)?;
    let said = world.ask(Incoming::private(ANN).text("/file_read path=/shared/a")).await?;
    assert_eq!(serde_json::from_str::<Value>(&said)?["content"], text);
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_long_answer_is_split_without_loss() -> anyhow::Result<()> {
    let world = World::running().await?;
    let lines: String = (0..300).map(|n| format!("line {n} 👩‍👩‍👧 naïve 🇩🇪 e\u{301}\n")).collect();
    let text = format!("{lines}{}{}", "👍🏽".repeat(4000), "x".repeat(9000));
    std::fs::write(world.home.host("/shared/a"), &text)?;
    let question = Incoming::group(GROUP, ANN).thread(5).text("/file_read path=/shared/a");
    let question = world.server.push(question);
    world.server.wait_for_message(PATIENCE, |sent| sent.text.ends_with('}')).await?;
    let sent = world.server.sent_messages();
    assert!(sent.iter().all(|part| part.text.encode_utf16().count() <= 4096));
    assert!(sent.iter().all(|part| (part.chat_id, part.thread_id) == (GROUP, Some(5))));
    let points: Vec<_> = sent.iter().map(|part| part.reply_to).collect();
    assert_eq!(points[0], Some(question.message_id));
    assert!(points[1..].iter().all(Option::is_none), "only the first points at the question");
    let whole: String = sent.iter().map(|part| part.text.as_str()).collect();
    assert!(serde_json::from_str::<Value>(&whole)?["content"] == text.as_str());
    let units = whole.encode_utf16().count();
    assert!(sent.len() <= units.div_ceil(4096) + 2, "{} messages for {units} units", sent.len());
    let count = sent.len();
    world.end(count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_endless_answer_ends_and_says_what_is_missing() -> anyhow::Result<()> {
    const MESSAGES_MAX: usize = 20;
    let world = World::running().await?;
    std::fs::write(world.home.host("/shared/a"), "x".repeat(200_000))?;
    world.server.push(Incoming::private(ANN).text("/file_read path=/shared/a"));
    let texts = world.texts(MESSAGES_MAX).await?;
    assert!(texts[..19].iter().all(|text| text.len() == 4096));
    let missing = texts[19].trim_start_matches("… The answer is too long: ");
    let missing: usize = missing.split(' ').next().unwrap_or_default().parse()?;
    assert!(
        missing > 200_000 - 19 * 4096 && texts[19].ends_with("more characters are not shown."),
        "{}",
        texts[19]
    );
    world.end(MESSAGES_MAX)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_part_that_is_refused_does_not_keep_the_others_back() -> anyhow::Result<()> {
    let world = World::running().await?;
    std::fs::write(world.home.host("/shared/a"), "x".repeat(10_000))?;
    let second = Fault::api_error(400, "Bad Request: message is too long");
    let gate = world.server.gate("sendMessage", Hold::BeforeAnswer);
    world.server.push(Incoming::private(ANN).text("/file_read path=/shared/a"));
    gate.reached().await?;
    world.server.fault("sendMessage", 1, second);
    gate.release();
    let texts = world.texts(2).await?;
    assert!(texts[0].starts_with('{') && texts[1].ends_with('}'), "{texts:?}");
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.logs("ROUTING_ERROR").await?;
    world.end(3)
}

//! Sending, editing, deleting, replying, and the parse mode.

use serde_json::{Value, json};

use super::SOON;
use super::client::{BotApi, Client};
use crate::telegram::{Incoming, TelegramServer, html};

#[tokio::test]
async fn a_sent_message_is_seen_with_its_edits() {
    let server = TelegramServer::start().await.unwrap();
    let incoming = server.push(Incoming::private(7).text("/help").thread(3));
    assert_eq!(incoming.message_id, 1);
    let mut client = Client::new(&server).await;
    let send = json!({ "chat_id": 7, "text": "Working…", "message_thread_id": 3,
        "reply_parameters": { "message_id": 1 } });
    let message = client.call("SendMessage", send).await.result();
    assert_eq!(message["message_id"], json!(2));
    assert_eq!(message["from"]["username"], json!("cofferdam_test_bot"));
    assert_eq!(message["chat"]["type"], json!("private"));
    assert_eq!(message["reply_to_message"]["text"], json!("/help"));
    assert_eq!(message["message_thread_id"], json!(3));
    let edit = json!({ "chat_id": 7, "message_id": 2, "text": "<b>Done</b> &amp; ok",
        "parse_mode": "HTML" });
    let edited = client.call("editMessageText", edit.clone()).await.result();
    assert_eq!(edited["entities"], json!([{ "type": "bold", "offset": 0, "length": 4 }]));
    assert!(edited["edit_date"].is_i64());
    let seen = server.wait_for_message(SOON, |m| m.text == "Done & ok").await.unwrap();
    assert_eq!(seen.earlier_texts, ["Working…"]);
    assert_eq!(seen.source, "<b>Done</b> &amp; ok");
    assert_eq!((seen.reply_to, seen.thread_id, seen.deleted), (Some(1), Some(3), false));
    let (_, why) = client.call("editMessageText", edit).await.refusal();
    assert!(why.starts_with("Bad Request: message is not modified"), "{why}");
    let which = json!({ "chat_id": 7, "message_id": 2 });
    assert_eq!(client.call("deleteMessage", which.clone()).await.result(), json!(true));
    assert!(server.wait_for_messages(SOON, 1).await.unwrap()[0].deleted);
    let (_, why) = client.call("deleteMessage", which).await.refusal();
    assert_eq!(why, "Bad Request: message to delete not found");
}

#[tokio::test]
async fn refusals_are_worded_like_the_real_ones() {
    let server = TelegramServer::start().await.unwrap();
    server.push(Incoming::private(7).text("hello"));
    let mut client = Client::new(&server).await;
    let to_7 = |text: &str| json!({ "chat_id": 7, "text": text });
    let reply_to_9 = json!({ "chat_id": 7, "text": "x", "reply_parameters": { "message_id": 9 } });
    let edit = |id: i64, text: &str| json!({ "chat_id": 7, "message_id": id, "text": text });
    let long = "x".repeat(4097);
    for (method, params, why) in [
        ("sendMessage", json!({ "text": "x" }), "chat_id is empty"),
        ("sendMessage", json!({ "chat_id": 8, "text": "x" }), "chat not found"),
        ("sendMessage", json!({ "chat_id": "@name", "text": "x" }), "chat not found"),
        ("sendMessage", json!({ "chat_id": 7 }), "message text is empty"),
        ("sendMessage", to_7(" \n "), "message text is empty"),
        ("sendMessage", to_7(&long), "message is too long"),
        ("sendMessage", reply_to_9, "message to be replied not found"),
        ("sendMessage", json!({ "chat_id": 7, "text": "x", "parse_mode": "rtf" }), "unsupported parse_mode"),
        ("editMessageText", edit(9, "x"), "message to edit not found"),
        ("editMessageText", edit(1, "x"), "message can't be edited"),
        ("editMessageText", edit(1, &long), "MESSAGE_TOO_LONG"),
        ("editMessageText", json!({ "chat_id": 7, "text": "x" }), "message identifier is not specified"),
    ] {
        let refusal = client.call(method, params).await.refusal();
        assert_eq!(refusal, (400, format!("Bad Request: {why}")));
    }
    assert!(server.sent_messages().is_empty());
}

#[tokio::test]
async fn length_counts_utf16_units_after_parsing() {
    let server = TelegramServer::start().await.unwrap();
    server.open_chat(7);
    let mut client = Client::new(&server).await;
    let fits = "🙂".repeat(2048);
    client.call("sendMessage", json!({ "chat_id": 7, "text": fits })).await.result();
    let too_long = json!({ "chat_id": 7, "text": format!("{fits}x") });
    assert_eq!(client.call("sendMessage", too_long).await.status, 400);
    let marked = json!({ "chat_id": 7, "parse_mode": "HTML", "text": format!("<b>{fits}</b>") });
    let message = client.call("sendMessage", marked).await.result();
    assert_eq!(message["entities"][0]["length"], json!(4096));
}

#[tokio::test]
async fn a_reply_to_a_deleted_message_may_go_without_it() {
    let server = TelegramServer::start().await.unwrap();
    server.open_chat(-100_123);
    let mut client = Client::new(&server).await;
    let reply = json!({ "message_id": 9, "allow_sending_without_reply": true });
    let send = json!({ "chat_id": -100_123, "text": "x", "reply_parameters": reply });
    let message = client.call("sendMessage", send).await.result();
    assert!(message["reply_to_message"].is_null());
    assert_eq!(message["chat"]["type"], json!("supergroup"));
    assert_eq!(server.sent_messages()[0].reply_to, None);
}

#[test]
fn html_is_parsed_or_refused() {
    let check = |source: &str, expected: &str| {
        let found = match html::format(source, Some("HTML")) {
            Ok(formatted) => format!("{} {}", formatted.text, Value::Array(formatted.entities)),
            Err(error) => error.description.replace("Bad Request: can't parse entities: ", "error: "),
        };
        assert_eq!(found, expected, "{source}");
    };
    check("a &lt;b&gt; &amp;&quot;&#33;&#x1F642;", "a <b> &\"!🙂 []");
    check("&nbsp; & &; &#0;", "&nbsp; & &; &#0; []");
    check("🙂<i>é</i>", r#"🙂é [{"type":"italic","offset":2,"length":1}]"#);
    check("<b></b>x", "x []");
    check(
        "<a href=\"http://e.org/?a>b\">x</a>",
        r#"x [{"type":"text_link","offset":0,"length":1,"url":"http://e.org/?a>b"}]"#,
    );
    check(
        "<a href=\"http://e.org/?a=1&amp;b\">x</a>",
        r#"x [{"type":"text_link","offset":0,"length":1,"url":"http://e.org/?a=1&b"}]"#,
    );
    check(
        "<pre><code class=\"language-rust\">x</code></pre>",
        r#"x [{"type":"pre","offset":0,"length":1,"language":"rust"}]"#,
    );
    check("<span>x</span>", "error: Tag \"span\" must have class \"tg-spoiler\" at byte offset 0");
    check("<p>x</p>", "error: Unsupported start tag \"p\" at byte offset 0");
    check("a < b >", "error: Unsupported start tag \"\" at byte offset 2");
    check("a < b", "error: Unclosed start tag at byte offset 2");
    check("<b>x", "error: Can't find end tag corresponding to start tag \"b\"");
    check("x</b>", "error: Unexpected end tag at byte offset 1");
    check("<b><i>x</b></i>", "error: Unmatched end tag at byte offset 7, expected \"</i>\", found \"</b>\"");
}

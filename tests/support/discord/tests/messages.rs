//! Messages of the bot: what is refused, and what becomes of the others.

use serde_json::{Value, json};

use super::client::{Gateway, Rest};
use super::{refusal, wrong_field};
use crate::discord::{BOT_ID, DiscordServer, Incoming, Refusal};

const CHANNEL: u64 = 5;
const MESSAGES: &str = "/channels/5/messages";

async fn server() -> (DiscordServer, Rest) {
    let server = DiscordServer::start().await.unwrap();
    server.open_channel(CHANNEL);
    let rest = Rest::new(&server).await;
    (server, rest)
}

fn row(buttons: usize) -> Value {
    let button = |n| json!({ "type": 2, "style": 1, "label": "x", "custom_id": format!("{n}") });
    json!({ "type": 1, "components": (0..buttons).map(button).collect::<Vec<_>>() })
}

#[tokio::test]
async fn what_the_real_server_refuses_is_refused() {
    let (server, mut rest) = server().await;
    let mut long = row(1);
    long["components"][0]["custom_id"] = "c".repeat(101).into();
    for (body, field, code) in [
        (json!({ "content": "é".repeat(2001) }), "content", "BASE_TYPE_MAX_LENGTH"),
        (json!({ "content": "x", "nonce": "n".repeat(26) }), "nonce", "BASE_TYPE_MAX_LENGTH"),
        (
            json!({ "content": "x", "allowed_mentions": { "parse": ["all"] } }),
            "allowed_mentions.parse.0",
            "BASE_TYPE_CHOICES",
        ),
        (
            json!({ "content": "x", "allowed_mentions": { "parse": ["users"], "users": ["7"] } }),
            "allowed_mentions",
            "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
        ),
        (
            json!({ "content": "x", "message_reference": {} }),
            "message_reference.message_id",
            "BASE_TYPE_REQUIRED",
        ),
        (
            json!({ "content": "x", "message_reference": { "message_id": "8" } }),
            "message_reference",
            "REPLIES_UNKNOWN_MESSAGE",
        ),
        (json!({ "content": "x", "components": vec![row(1); 6] }), "components", "BASE_TYPE_BAD_LENGTH"),
        (
            json!({ "content": "x", "components": [row(6)] }),
            "components.0.components",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            json!({ "content": "x", "components": [row(1), row(1)] }),
            "components.1.components.0.custom_id",
            "COMPONENT_CUSTOM_ID_DUPLICATED",
        ),
        (
            json!({ "content": "x", "components": [long] }),
            "components.0.components.0.custom_id",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (json!({ "content": "x", "attachments": [{ "id": 0 }] }), "attachments.0", "ATTACHMENT_NOT_FOUND"),
    ] {
        let reply = rest.post(MESSAGES, body.clone()).await;
        assert_eq!(wrong_field(&reply), (field.to_owned(), code.to_owned()), "{body}");
    }
    for body in [json!({}), json!({ "content": "" }), json!({ "content": " \n" }), json!({ "content": null })]
    {
        assert_eq!(refusal(&rest.post(MESSAGES, body.clone()).await), (400, 50006), "{body}");
    }
    let hello = json!({ "content": "x" });
    for (why, expected) in [
        (Refusal::MissingPermissions, (403, 50013)),
        (Refusal::MissingAccess, (403, 50001)),
        (Refusal::LockedThread, (400, 160_005)),
        (Refusal::CannotSendToUser, (403, 50007)),
        (Refusal::UnknownChannel, (404, 10003)),
    ] {
        server.refuse(CHANNEL, Some(why));
        assert_eq!(refusal(&rest.post(MESSAGES, hello.clone()).await), expected, "{why:?}");
        assert_eq!(refusal(&rest.call("POST", "/channels/5/typing", None).await), expected, "{why:?}");
        let readable = rest.get(MESSAGES).await.status == 200;
        assert_eq!(readable, why != Refusal::MissingAccess);
    }
    server.refuse(CHANNEL, None);
    assert!(server.sent_messages().is_empty());
    assert_eq!(rest.post(MESSAGES, hello).await.status, 200);
    let mut longest =
        json!({ "content": "é".repeat(2000), "nonce": "n".repeat(25), "flags": 1 << 6 | 1 << 2 });
    longest["components"] = json!([row(5)]);
    assert_eq!(rest.post(MESSAGES, longest).await.json()["flags"], json!(4));
    assert_eq!(rest.call("POST", "/channels/5/typing", None).await.status, 204);
}

#[tokio::test]
async fn a_nonce_makes_one_message_until_it_is_forgotten() {
    let (server, mut rest) = server().await;
    server.open_channel(6);
    let body = |enforce: bool| json!({ "content": "x", "nonce": 5, "enforce_nonce": enforce });
    let first = rest.post(MESSAGES, body(true)).await.json();
    assert_eq!((&first["nonce"], &first["author"]["id"]), (&json!(5), &json!(BOT_ID.to_string())));
    let id = |reply: Value| reply["id"].as_str().unwrap().to_owned();
    let first = id(first);
    assert_eq!(id(rest.post(MESSAGES, body(true)).await.json()), first);
    assert_eq!(
        id(rest.post(MESSAGES, json!({ "content": "y", "nonce": "5", "enforce_nonce": true })).await.json()),
        first
    );
    assert_ne!(id(rest.post(MESSAGES, body(false)).await.json()), first);
    let elsewhere = rest.post("/channels/6/messages", body(true)).await.json();
    assert_eq!(
        (&elsewhere["channel_id"], id(elsewhere.clone())),
        (&json!("5"), first.clone()),
        "of its author"
    );
    assert_eq!(rest.call("DELETE", &format!("{MESSAGES}/{first}"), None).await.status, 204);
    assert_eq!(refusal(&rest.post(MESSAGES, body(true)).await), (404, 10008));
    server.advance(std::time::Duration::from_secs(5 * 60));
    assert_ne!(id(rest.post(MESSAGES, body(true)).await.json()), first);
    let sent = server.sent_messages();
    assert_eq!((sent.len(), sent[0].deleted, sent[0].nonce.as_deref()), (3, true, Some("5")));
    assert_eq!(sent.iter().map(|sent| sent.enforce_nonce).collect::<Vec<_>>(), [true, false, true]);
}

#[tokio::test]
async fn replies_and_mentions_reach_whom_they_may() {
    let (server, mut rest) = server().await;
    let asked = server.push(Incoming::guild(CHANNEL, 7).text("?"));
    let id = asked.message_id.to_string();
    let reply = |allowed: Value| {
        let words = "<@7> <@!8> <@&9> @everyone";
        let reference = json!({ "message_id": id, "fail_if_not_exists": false });
        let mut body = json!({ "content": words, "message_reference": reference });
        if !allowed.is_null() {
            body["allowed_mentions"] = allowed;
        }
        body
    };
    for (allowed, pings) in [
        (Value::Null, "<@7> <@8> <@&9> @everyone reply"),
        (json!({ "parse": [] }), ""),
        (json!({ "parse": [], "replied_user": false }), ""),
        (json!({ "parse": [], "replied_user": true }), "reply"),
        (json!({ "parse": ["users"] }), "<@7> <@8>"),
        (json!({ "parse": ["roles"], "users": ["8"] }), "<@8> <@&9>"),
        (json!({ "parse": ["everyone"] }), "@everyone"),
    ] {
        let answer = rest.post(MESSAGES, reply(allowed.clone())).await.json();
        assert_eq!((&answer["type"], &answer["referenced_message"]["id"]), (&json!(19), &json!(id)));
        let sent = server.sent_messages().pop().unwrap();
        assert_eq!(
            (sent.pings.join(" "), sent.reply_to),
            (pings.to_owned(), Some(asked.message_id)),
            "{allowed}"
        );
        assert_eq!(sent.allowed_mentions.unwrap_or_default(), allowed);
    }
    server.delete(CHANNEL, asked.message_id).unwrap();
    let shown = rest.get(&format!("{MESSAGES}/{}", server.sent_messages()[0].message_id)).await.json();
    assert_eq!(shown["referenced_message"], Value::Null, "it is deleted");
    let answer = rest.post(MESSAGES, reply(json!({ "parse": [] }))).await.json();
    assert_eq!((&answer["type"], answer.get("message_reference")), (&json!(0), None));
    assert_eq!(server.sent_messages().pop().unwrap().reply_to, None);
}

#[tokio::test]
async fn edits_change_what_they_name() {
    let (server, mut rest) = server().await;
    let (mut gateway, _) = Gateway::identified(&server, 1 << 9).await;
    let other = server.push(Incoming::guild(CHANNEL, 7).text("mine").mention_bot());
    gateway.event("MESSAGE_CREATE").await;
    let files = [("files[0]", "a.txt", &b"a"[..]), ("files[1]", "b.txt", b"b")];
    let first = rest
        .upload("POST", MESSAGES, json!({ "content": "one", "components": [row(2)] }), &files)
        .await
        .json();
    gateway.event("MESSAGE_CREATE").await;
    let path = format!("{MESSAGES}/{}", first["id"].as_str().unwrap());
    let mine = format!("{MESSAGES}/{}", other.message_id);
    assert_eq!(refusal(&rest.call("PATCH", &mine, Some(json!({ "content": "x" }))).await), (403, 50005));
    assert_eq!(refusal(&rest.call("DELETE", &mine, None).await), (403, 50013));
    let edit = json!({ "content": "two", "attachments": [{ "id": first["attachments"][1]["id"] }] });
    let edited = rest.call("PATCH", &path, Some(edit)).await.json();
    assert_eq!((&edited["content"], edited["attachments"].as_array().unwrap().len()), (&json!("two"), 1));
    assert_eq!(gateway.event("MESSAGE_UPDATE").await["content"], json!("two"));
    let more =
        rest.upload("PATCH", &path, json!({ "components": [] }), &[("files[0]", "c.txt", b"c")]).await.json();
    assert_eq!((&more["content"], &more["attachments"][1]["filename"]), (&json!("two"), &json!("c.txt")));
    gateway.event("MESSAGE_UPDATE").await;
    let sent = &server.sent_messages()[0];
    assert_eq!(
        (&sent.earlier_contents, sent.requests.len(), sent.buttons().len()),
        (&vec!["one".to_owned()], 3, 0)
    );
    assert_eq!(sent.files.iter().map(|file| &*file.name).collect::<Vec<_>>(), ["b.txt", "c.txt"]);
    let nothing = json!({ "content": "", "attachments": [] });
    assert_eq!(refusal(&rest.call("PATCH", &path, Some(nothing)).await), (400, 50006));
    assert_eq!(rest.call("DELETE", &path, None).await.status, 204);
    assert_eq!(gateway.event("MESSAGE_DELETE").await["id"], first["id"]);
    assert_eq!(refusal(&rest.call("PATCH", &path, Some(json!({ "content": "x" }))).await), (404, 10008));
}

#[tokio::test]
async fn lists_are_the_newest_first() {
    let (server, mut rest) = server().await;
    server.set_message_content(true);
    let pushed = server.push_all((0..4).map(|n| Incoming::guild(CHANNEL, 7).text(&n.to_string()).untold()));
    let ids: Vec<_> = pushed.iter().map(|one| one.message_id).collect();
    for (query, expected) in [
        (String::new(), "3210"),
        ("?limit=2".to_owned(), "32"),
        (format!("?after={}", ids[0]), "321"),
        (format!("?after={}&limit=2", ids[0]), "21"),
        (format!("?before={}", ids[2]), "10"),
        (format!("?before={}&limit=1", ids[2]), "1"),
        (format!("?after={}", ids[3]), ""),
        ("?after=0&limit=100".to_owned(), "3210"),
    ] {
        let list = rest.get(&format!("{MESSAGES}{query}")).await.json();
        let found: String =
            list.as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test]
async fn blanks_around_content_are_lost() {
    let (server, mut rest) = server().await;
    for (sent, shown) in
        [("\n  a \n b\t\n", "a \n b"), ("\u{200b}  a", "\u{200b}  a"), ("\u{a0}a\u{3000}", "a")]
    {
        let message = rest.post(MESSAGES, json!({ "content": sent })).await.json();
        assert_eq!(message["content"], json!(shown), "{sent:?}");
        let edit = json!({ "content": format!(" {sent}") });
        rest.call("PATCH", &format!("{MESSAGES}/{}", message["id"].as_str().unwrap()), Some(edit)).await;
        let known = server.sent_messages().pop().unwrap();
        assert_eq!((&*known.content, &known.requests[0]["content"]), (shown, &json!(sent)));
    }
}

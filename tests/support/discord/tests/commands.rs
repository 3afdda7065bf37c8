//! The commands of the application, by the real server's rules.

use serde_json::{Value, json};

use super::client::Rest;
use super::{refusal, wrong_field};
use crate::discord::{BOT_ID, Command, DiscordServer};

fn command(name: &str) -> Value {
    json!({ "name": name, "description": "x" })
}

#[tokio::test]
async fn what_the_real_server_refuses_is_refused() {
    let server = DiscordServer::start().await.unwrap();
    let mut rest = Rest::new(&server).await;
    let path = format!("/applications/{BOT_ID}/commands");
    let option = |name: &str, required: bool| json!({ "type": 3, "name": name, "description": "x", "required": required });
    let with = |options: Value| {
        let mut command = command("a");
        command["options"] = options;
        json!([command])
    };
    let many: Vec<_> = (0..26).map(|n| option(&format!("o{n}"), false)).collect();
    let mut undescribed = command("a");
    undescribed["description"] = "".into();
    let mut odd = option("a", false);
    odd["type"] = 12.into();
    for (body, field, code) in [
        (json!([command("")]), "0.name", "APPLICATION_COMMAND_INVALID_NAME"),
        (json!([command("Help")]), "0.name", "APPLICATION_COMMAND_INVALID_NAME"),
        (json!([command("a b")]), "0.name", "APPLICATION_COMMAND_INVALID_NAME"),
        (json!([command("a"), command(&"x".repeat(33))]), "1.name", "APPLICATION_COMMAND_INVALID_NAME"),
        (json!([command("a"), command("a")]), "1.name", "APPLICATION_COMMANDS_DUPLICATE_NAME"),
        (json!([undescribed]), "0.description", "BASE_TYPE_BAD_LENGTH"),
        (with(json!(many)), "0.options", "BASE_TYPE_MAX_LENGTH"),
        (with(json!([option("A", false)])), "0.options.0.name", "APPLICATION_COMMAND_INVALID_NAME"),
        (with(json!([odd])), "0.options.0.type", "BASE_TYPE_CHOICES"),
        (
            with(json!([option("a", false), option("b", true)])),
            "0.options.1",
            "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
        ),
    ] {
        let reply = rest.call("PUT", &path, Some(body.clone())).await;
        assert_eq!(wrong_field(&reply), (field.to_owned(), code.to_owned()), "{body}");
    }
    let many: Vec<_> = (0..101).map(|n| command(&format!("c{n}"))).collect();
    assert_eq!(refusal(&rest.call("PUT", &path, Some(json!(many))).await), (400, 30032));
    assert!(server.commands().is_empty());
}

#[tokio::test]
async fn what_is_set_replaces_all_and_keeps_ids_by_name() {
    let server = DiscordServer::start().await.unwrap();
    let mut rest = Rest::new(&server).await;
    let path = format!("/applications/{BOT_ID}/commands");
    let first = rest.call("PUT", &path, Some(json!([command("a"), command("b")]))).await.json();
    let second = rest.call("PUT", &path, Some(json!([command("c"), command("b")]))).await.json();
    assert_eq!(first[1]["id"], second[1]["id"]);
    assert_ne!(first[1]["version"], second[1]["version"]);
    assert_eq!(rest.get(&path).await.json(), second);
    assert_eq!(json!(server.commands()), second);
    assert_eq!((&second[0]["type"], &second[0]["nsfw"]), (&json!(1), &json!(false)));
    let given = server.invoke(Command::new("b"));
    assert_eq!(given.event["data"]["id"], second[1]["id"]);
}

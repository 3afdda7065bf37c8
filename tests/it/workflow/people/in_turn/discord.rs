//! The same over Discord, and from Telegram to Discord: nothing of a wait knows which channel it is
//! on.

use super::*;
use support::discord::{DiscordServer, Incoming as Said, Media, Press, SentMessage as Sent};

const DAN: u64 = 1_100_000_000_000_000_001;
const EVA: u64 = 1_100_000_000_000_000_002;

async fn start(home: &Home, server: &DiscordServer, telegram: &str) -> anyhow::Result<Serving> {
    let environment = [("DISCORD_BOT_TOKEN", server.token())];
    let serving = Serving::launch(home, telegram, &[], &environment)?.says("listening on Discord as")?;
    server.wait_until_connected(PATIENCE).await?;
    Ok(serving)
}

fn section(server: &DiscordServer) -> String {
    let (api, cdn) = (server.api_url(), server.cdn_url());
    format!("[channels.discord]\napi_url = {api:?}\ncdn_url = {cdn:?}\nallowed_users = [{DAN}, {EVA}]\n")
}

async fn said(server: &DiscordServer, words: &str) -> anyhow::Result<Sent> {
    let is_it = |sent: &Sent| sent.content.starts_with(words);
    server.wait_for_message(PATIENCE, is_it).await.map_err(|error| anyhow::anyhow!("{words:?}: {error}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reply_comes_back_on_discord_through_a_kill() -> anyhow::Result<()> {
    let server = DiscordServer::start().await?;
    let home = Home::new().config(&section(&server));
    let serving = start(&home, &server, "1:unused").await?;
    let begun = server.push(Said::private(DAN).text("/workflow_create"));
    let told: Value = serde_json::from_str(&said(&server, "{\"workflow\"").await?.content)?;
    let send =
        json!({ "workflow": told["workflow"], "send": { "to": format!("discord:{EVA}"), "text": "When?" } });
    server.push(Said::private(DAN).text(&format!("/workflow_task_create {send}")));
    let shown = server.wait_for_message(PATIENCE, |sent: &Sent| sent.buttons().len() == 2).await?;
    server.press(Press::new(DAN, shown.channel_id, shown.message_id, &shown.buttons()[0].custom_id))?;
    let message = said(&server, "When?").await?;
    let out: Value = serde_json::from_str(&said(&server, "{\"channel\":\"discord\"").await?.content)?;
    assert_eq!(out["messageId"], message.message_id.to_string());
    let wait = json!({ "workflow": told["workflow"], "messageId": out["messageId"], "timeout": "1h" });
    server.push(Said::private(DAN).text(&format!("/workflow_wait_for_reply {wait}")));
    said(&server, "{\"waiting\":true}").await?;
    serving.kill();
    let _serving = start(&home, &server, "1:unused").await?;
    server.push(Said::private(EVA).text("at noon").reply_to(&message.message));
    let answer = said(&server, &format!("discord:{EVA} replies: at noon")).await?;
    assert_eq!((answer.channel_id, answer.reply_to), (begun.channel_id, Some(begun.message_id)));
    let count = server.sent_messages().iter().filter(|sent| sent.content.starts_with("When?")).count();
    assert_eq!(count, 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn somebody_on_discord_answers_somebody_on_telegram() -> anyhow::Result<()> {
    let server = DiscordServer::start().await?;
    let llm = LlmServer::start().await?;
    llm.otherwise(|request| {
        let (about, _) = request.last_said();
        match (about["goes_on"].is_object(), called(request)) {
            (false, 1) => {
                let workflow = &result(request).unwrap_or_default()["result"]["workflow"];
                let send = json!({ "to": format!("discord:{EVA}"), "text": "When does it come?" });
                Turn::calls([Call::new(
                    "workflow_task_create",
                    json!({ "workflow": workflow, "send": send }),
                )])
            }
            (false, _) => asks_ben(request),
            (true, 0) => {
                Turn::calls([Call::new("attachment_save", json!({ "index": 0, "path": "/shared/plan.txt" }))])
            }
            (true, _) => Turn::say("Eva has sent a plan."),
        }
    });
    let mut world = World::stopped(&[]).await?;
    world.home = world.home.model(&llm, Dialect::Chat, "").config(&section(&server));
    world.serving = Some(start(&world.home, &server, world.server.token()).await?);
    let asked = world.ask("ask Eva when it comes");
    decide(&world, &question(&world, "workflow_task_create").await?, 0);
    let message = said(&server, "When does it come?").await?;
    world.answer(&asked, "I have asked Ben.").await?;
    server.push(Said::private(EVA).attachment(Media::new("plan.txt", "the plan")).reply_to(&message.message));
    world.answer(&asked, "Eva has sent a plan.").await?;
    assert_eq!(std::fs::read(world.home.host("/shared/plan.txt"))?, b"the plan");
    Ok(())
}

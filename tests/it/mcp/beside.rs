//! Servers beside a `serve` on one state folder and one workspace: all work, on the same files, in
//! one audit.

use super::PATIENCE;
use super::world::Server;
use anyhow::ensure;
use serde_json::json;
use support::home::Home;
use support::serving::Serving;
use support::telegram::{Incoming, TelegramServer};

const ANN: i64 = 5_000_000_001;
const EACH: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn two_servers_and_serve_share_the_files_and_one_sound_audit() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[ANN]);
    let serving = Serving::start(&home, telegram.token())?;
    let mut servers = [Server::start(&home, json!({}))?, Server::start(&home, json!({}))?];
    let write = |who: &str, n: usize| json!({ "path": format!("/shared/{who}-{n}"), "content": who });
    let mut calls = Vec::new();
    for n in 0..EACH {
        telegram.push(Incoming::private(ANN).text(&format!("/file_write {}", write("telegram", n))));
        for (server, who) in servers.iter_mut().zip(["one", "two"]) {
            let params = json!({ "name": "file_write", "arguments": write(who, n) });
            calls.push((who, server.begin("tools/call", params)?));
        }
    }
    for (who, id) in calls {
        let server = &mut servers[usize::from(who == "two")];
        let answer = server.answer(id)?;
        ensure!(answer["result"]["isError"] == false, "{answer}");
    }
    let answers = telegram.wait_for_messages(PATIENCE, EACH).await?;
    ensure!(answers.iter().all(|sent| sent.text.starts_with('{')), "{answers:?}");
    // Each sees what the others wrote.
    for server in &mut servers {
        for who in ["telegram", "one", "two"] {
            let read = server.call("file_read", json!({ "path": format!("/shared/{who}-0") }))?;
            ensure!(read["structuredContent"]["content"] == who, "{read}");
        }
    }
    for server in servers {
        server.end()?;
    }
    serving.end(PATIENCE)?;
    let records = home.audit();
    let published = |channel: &str| {
        let of = records.iter().filter(|record| record["channel"] == channel && record["event"] == "intent");
        of.count()
    };
    ensure!((published("telegram"), published("mcp")) == (EACH, 2 * EACH), "{}", records.len());
    ensure!(home.run(&["audit", "verify"]).code == Some(0));
    ensure!(home.leftovers().is_empty(), "{:?}", home.leftovers());
    Ok(())
}

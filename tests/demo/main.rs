//! One real turn, told step by step: a photo sent to a bot on a loopback Telegram server, served by the
//! real `cofferdam serve`. Every sentence it prints has been checked; exit 0 only if all of them hold.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::time::Duration;
use support::guests::sha256;
use support::home::Home;
use support::samples;
use support::serving::Serving;
use support::telegram::{Incoming, Media, TelegramServer};

const USER: i64 = 4242;
const CAPTION: &str = "/attachment_save index=0 path=/shared/photo.jpg";
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let photo = samples::jpeg(150_000);
    let server = TelegramServer::start().await?;
    let home = Home::new().telegram(&server.api_url(), &[USER]);
    said("A Telegram Bot API server of our own listens on loopback", &server.api_url());

    let serving = Serving::start(&home, server.token())?;
    let line = serving.log().lines().find(|l| l.contains("polling")).unwrap_or_default().to_owned();
    said("The real gateway runs", &line);

    let sent = server
        .push(Incoming::private(USER).photo(Media::with_content("photo-1", photo.clone())).caption(CAPTION));
    said(
        "Update",
        &format!(
            "{}: user {USER} sends a photo of {} bytes with the caption {CAPTION}",
            sent.update_id,
            photo.len()
        ),
    );

    let reply = server.wait_for_message(PATIENCE, |_| true).await.with_context(|| serving.log())?;
    let audit = home.audit();
    let outcome = audit.iter().rfind(|r| r["event"] == "outcome").context("an outcome in the audit")?;
    let result: Value =
        serde_json::from_str(&reply.text).with_context(|| format!("the reply is {:?}", reply.text))?;

    tell_attachment(&result, &photo)?;
    ensure!(outcome["verdict"] == "permit" && outcome["profile"] == "file-read-write", "{outcome}");
    said("Verdict", "permit, under profile file-read-write");

    let file = std::fs::read(home.host("/shared/photo.jpg")).context("the saved file")?;
    ensure!(file == photo, "the file differs from what was sent");
    said(
        "File",
        &format!("/shared/photo.jpg has {} bytes, sha256 {}, the same as sent", file.len(), sha256(&file)),
    );

    ensure!(result["saved"] == true && result["path"] == "/shared/photo.jpg", "{result}");
    ensure!(reply.reply_to == Some(sent.message_id) && reply.chat_id == sent.chat_id, "{reply:?}");
    ensure!(server.sent_messages().len() == 1, "more than one reply");
    said("Reply", &reply.text);

    tell_audit(&audit, outcome, &photo)?;
    let verified = home.run(&["audit", "verify"]);
    ensure!(verified.code == Some(0), "{verified:?}");
    said("audit verify", verified.stdout.lines().next().unwrap_or_default());

    ensure!(!serving.log().contains(server.token()), "the token is in the log");
    let (status, log) = serving.stop(rustix::process::Signal::TERM, Duration::from_secs(10))?;
    ensure!(status.success(), "serve ended with {status}:\n{log}");
    said("SIGTERM", "the gateway finished and exited with 0");
    println!("\nAll of that is true.");
    Ok(())
}

fn said(what: &str, detail: &str) {
    println!("{what:>14}: {detail}");
}

fn tell_attachment(result: &Value, photo: &[u8]) -> Result<()> {
    ensure!(result["source_index"] == 0 && result["mime_type"] == "image/jpeg", "{result}");
    ensure!(result["bytes_written"] == photo.len(), "{result}");
    said(
        "Attachment",
        &format!("[0] detected as image/jpeg, {} bytes, sha256 {}", photo.len(), sha256(photo)),
    );
    Ok(())
}

fn tell_audit(audit: &[Value], outcome: &Value, photo: &[u8]) -> Result<()> {
    let intent = audit.iter().find(|r| r["event"] == "intent").context("an intent in the audit")?;
    for record in [intent, outcome] {
        let written = &record["files"][0];
        ensure!(written["path"] == "/shared/photo.jpg" && written["sha256"] == sha256(photo), "{record}");
        ensure!(
            record["sender"].as_str() == Some(USER.to_string().as_str())
                && record["tool"] == "attachment_save",
            "{record}"
        );
        said(
            "Audit",
            &format!(
                "#{} {}: {} by {}:{}, {} {} bytes",
                record["seq"],
                record["event"].as_str().unwrap_or_default(),
                record["tool"].as_str().unwrap_or_default(),
                record["channel"].as_str().unwrap_or_default(),
                record["sender"].as_str().unwrap_or_default(),
                written["path"].as_str().unwrap_or_default(),
                written["bytes"]
            ),
        );
    }
    ensure!(outcome["intent"] == intent["seq"], "the outcome settles another intent");
    Ok(())
}

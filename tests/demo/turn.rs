//! The turn, the same on every channel: a photo with the command that saves it.

use super::say;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use support::guests::sha256;
use support::home::Home;
use support::platform::{Message, Platform, Sent, Written};
use support::samples;
use support::serving::Serving;

/// Sends the photo, and tells what came of it.
///
/// # Errors
/// The first sentence that does not hold.
pub(super) async fn tell<P: Platform>(platform: &P, home: &Home, serving: &Serving) -> Result<()> {
    println!("\n{}", P::NAME);
    let (person, path) = (P::person(0), format!("/shared/{}/photo.jpg", P::NAME));
    // Another one on each channel: what is saved is the one that was sent there.
    let photo = samples::jpeg(150_000 + P::NAME.len());
    let command = format!("/attachment_save index=0 path={path}");
    let asked = platform.write(Message::text(person, &command).file("photo.jpg", photo.clone()));
    let sent = format!("user {person} sends a photo of {} bytes with {command}", photo.len());
    say("Message", &sent);

    let reply = platform.answer(&asked).await.with_context(|| serving.log())?;
    let audit = home.audit();
    let record = |event: &str| {
        let mut records = audit.iter().filter(|record| record["channel"] == P::NAME);
        records.find(|record| record["event"] == event).with_context(|| format!("no {event} in the audit"))
    };
    let (intent, outcome) = (record("intent")?, record("outcome")?);
    tell_file(home, &reply, outcome, (&path, &photo))?;
    tell_reply(platform, &reply, &asked).await?;
    for record in [intent, outcome] {
        tell_record(record, person, (&path, &photo))?;
    }
    ensure!(outcome["intent"] == intent["seq"], "the outcome settles another intent");
    Ok(())
}

fn tell_file(home: &Home, reply: &Sent, outcome: &Value, (path, photo): (&str, &[u8])) -> Result<()> {
    let result: Value =
        serde_json::from_str(&reply.text).with_context(|| format!("the reply is {:?}", reply.text))?;
    ensure!(result["source_index"] == 0 && result["mime_type"] == "image/jpeg", "{result}");
    ensure!(result["bytes_written"] == photo.len(), "{result}");
    let (bytes, sum) = (photo.len(), sha256(photo));
    say("Attachment", &format!("[0] detected as image/jpeg, {bytes} bytes, sha256 {sum}"));
    ensure!(outcome["verdict"] == "permit" && outcome["profile"] == "file-read-write", "{outcome}");
    say("Verdict", "permit, under profile file-read-write");
    let file = std::fs::read(home.host(path)).context("the saved file")?;
    ensure!(file == photo, "the file differs from what was sent");
    say("File", &format!("{path} has {bytes} bytes, sha256 {}, the same as sent", sha256(&file)));
    ensure!(result["saved"] == true && result["path"] == path, "{result}");
    Ok(())
}

async fn tell_reply<P: Platform>(platform: &P, reply: &Sent, asked: &Written) -> Result<()> {
    ensure!((reply.place, reply.reply_to) == (asked.place, Some(asked.id)), "{reply:?}");
    ensure!(platform.sent_count() == 1, "more than one reply");
    let violations = platform.violations();
    ensure!(violations.is_empty(), "{violations:?}");
    say("Reply", &reply.text);
    Ok(())
}

fn tell_record(record: &Value, person: i64, (path, photo): (&str, &[u8])) -> Result<()> {
    let written = &record["files"][0];
    ensure!(written["path"] == path && written["sha256"] == sha256(photo), "{record}");
    let word = |name: &str| record[name].as_str().unwrap_or_default();
    ensure!(word("sender") == person.to_string() && word("tool") == "attachment_save", "{record}");
    let (seq, event, tool) = (&record["seq"], word("event"), word("tool"));
    let who = format!("{}:{}", word("channel"), word("sender"));
    say("Audit", &format!("#{seq} {event}: {tool} by {who}, {path} {} bytes", written["bytes"]));
    Ok(())
}

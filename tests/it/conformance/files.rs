//! Files in and out.

use super::channel::{Channel, text_of};
use anyhow::{Result, ensure};
use serde_json::Value;
use support::guests::sha256;
use support::samples;

/// Byte for byte; what it is, is told from its bytes.
pub(super) async fn a_file_that_came_is_saved<C: Channel>() -> Result<()> {
    let mut channel = C::running().await?;
    let photo = samples::jpeg(300_000);
    let save = text_of("/attachment_save index=0 path=/shared/new/a.jpg").file("a.jpg", photo.clone());
    let asked = channel.write(save);
    let said: Value = serde_json::from_str(&channel.answer(asked).await?)?;
    let expected = serde_json::json!({ "saved": true, "path": "/shared/new/a.jpg", "mime_type": "image/jpeg",
        "bytes_written": photo.len(), "source_index": 0 });
    ensure!(said == expected, "{said}");
    ensure!(channel.saved("/shared/new/a.jpg")? == photo);
    let outcome = channel.home().audit().pop().expect("recorded");
    ensure!(outcome["files"][0]["sha256"] == sha256(&photo), "{outcome}");
    // Without a command it is listed, with the way to save it.
    let asked = channel.write(text_of("look").file("b.txt", "two"));
    let said = channel.answer(asked).await?;
    ensure!(said.contains("b.txt") && said.contains("/attachment_save index=0"), "{said}");
    channel.end(2, &[]).await
}

/// A tool adds it to the reply.
pub(super) async fn a_file_is_sent_back<C: Channel>() -> Result<()> {
    let mut channel = C::running().await?;
    let bytes = b"to be sent back".repeat(1000);
    std::fs::create_dir_all(channel.home().host("/shared"))?;
    std::fs::write(channel.home().host("/shared/back.bin"), &bytes)?;
    let said = channel.ask("/attachment_add path=/shared/back.bin").await?;
    ensure!(said.contains("back.bin"), "{said}");
    let files = channel.files(1).await?;
    let [(name, sum)] = &files[..] else { anyhow::bail!("{files:?}") };
    ensure!(name == "back.bin" && sha256(&bytes).starts_with(sum) && sum.len() >= 12, "{files:?}");
    // A short text goes with its file.
    channel.end(1, &[]).await
}

//! People who are not served.

use super::channel::{Lasting, text_of};
use anyhow::{Context, Result, ensure};

/// Once, with their id and a code; their file is not fetched and their command not run. The code
/// lets them in.
pub(super) async fn a_stranger_is_told_how_to_pair_and_nothing_of_theirs_runs<C: Lasting>() -> Result<()> {
    let mut channel = C::running().await?;
    let save = text_of("/attachment_save index=0 path=/shared/a").file("a.txt", "a stranger's");
    let first = channel.write_as_stranger(save.clone());
    let told = channel.answer(first).await?;
    ensure!(told.contains(&C::stranger()), "{told}");
    let code = told.split("cofferdam allow ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let code = code.with_context(|| told.clone())?.to_owned();
    channel.write_as_stranger(text_of("/file_write path=/shared/a content=x"));
    // Behind what the stranger wrote.
    channel.ask("hello").await?;
    ensure!(channel.fetches() == 0 && !channel.home().host("/shared/a").exists());
    ensure!(channel.home().audit().is_empty(), "{:?}", channel.home().audit());
    ensure!(channel.messages() == 2, "the stranger is told once");

    let ran = channel.home().run(&["allow", &code]);
    let whose = format!("{}:{}", C::NAME, C::stranger());
    ensure!(ran.code == Some(0) && ran.stdout.contains(&whose), "{ran:?}");
    let after = channel.write_as_stranger(save);
    let said = channel.answer(after).await?;
    ensure!(said.contains("\"saved\":true"), "{said}");
    ensure!(channel.saved("/shared/a")? == b"a stranger's");
    channel.says("has let you in").await?;
    channel.end(4, &[]).await
}

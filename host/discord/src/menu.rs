//! Setting the application commands, where they are not as they should be. Best effort: without them what is typed works as
//! well.

use super::api::Carried;
use super::bot::Bot;
use super::command::{are_set, commands};
use super::failure::Failure;
use super::route::{self, Route};
use super::wire::id;
use cofferdam_chat::setup::MenuEntry;
use serde_json::Value;

/// Has Discord show these.
pub(super) async fn set_commands(bot: &Bot, menu: &[MenuEntry]) {
    let (wanted, left_out) = commands(menu);
    if !left_out.is_empty() {
        tracing::info!(
            "no command is made of these tools, which can still be typed: {}",
            left_out.join(", ")
        );
    }
    if let Err(failure) = set(bot, wanted).await {
        tracing::warn!(%failure, "the application commands are not set; the bot works without them");
    }
}

async fn set(bot: &Bot, wanted: Vec<Value>) -> Result<(), Failure> {
    let application = bot.api.call(&Route::bot(route::APPLICATION, &[]), Carried::Nothing).await?;
    // Of older bots it is another one than the bot's own.
    let application = id(&application["id"]).unwrap_or(bot.me.id);
    let found = bot.api.call(&Route::bot(route::COMMANDS, &[application]), Carried::Nothing).await?;
    if !are_set(&found, &wanted) {
        bot.api
            .call(&Route::bot(route::SET_COMMANDS, &[application]), Carried::Json(&Value::Array(wanted)))
            .await?;
    }
    Ok(())
}

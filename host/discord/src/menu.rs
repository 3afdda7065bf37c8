//! Setting the application commands, where they are not as they should be. Best effort: without
//! them what is typed works as well.

use super::api::RequestBody;
use super::bot::DiscordBot;
use super::command::{commands, is_current};
use super::failure::ApiFailure;
use super::route::{self, Route};
use super::wire::id;
use cofferdam_chat::setup::MenuEntry;
use serde_json::Value;

/// Has Discord show these commands.
pub(super) async fn set_menu(bot: &DiscordBot, menu: &[MenuEntry]) {
    let (wanted, left_out) = commands(menu);
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        tracing::info!("no command is made of these tools, which can still be typed: {names}");
    }
    if let Err(failure) = set(bot, wanted).await {
        tracing::warn!(%failure, "the application commands are not set; the bot works without them");
    }
}

async fn set(bot: &DiscordBot, wanted: Vec<Value>) -> Result<(), ApiFailure> {
    let application = bot.api.call(&Route::bot(route::APPLICATION, &[]), RequestBody::Nothing).await?;
    // Of older bots it is another one than the bot's own.
    let application = id(&application["id"]).unwrap_or(bot.me.id);
    let found = bot.api.call(&Route::bot(route::COMMANDS, &[application]), RequestBody::Nothing).await?;
    if !is_current(&found, &wanted) {
        bot.api
            .call(&Route::bot(route::SET_COMMANDS, &[application]), RequestBody::Json(&Value::Array(wanted)))
            .await?;
    }
    Ok(())
}

//! Another configuration while the bot runs; and setting the application commands, where they are
//! not as they should be. Best effort: without them what is typed works as well.

use super::Config;
use super::api::RequestBody;
use super::bot::{DiscordBot, configured_people};
use super::command::{commands, is_current};
use super::failure::ApiFailure;
use super::route::{self, Route};
use super::wire::id;
use cofferdam_chat::setup::{MenuEntry, Renewable, RenewedSettings};
use serde_json::Value;
use std::sync::Arc;

impl Renewable for DiscordBot {
    type Config = Config;

    fn renew(&self, renewed: RenewedSettings<Config>) -> Self {
        let base = self.base.renew(&renewed, &renewed.config.approvers);
        let door = self.door.with_people(configured_people(&renewed.config));
        Self { base, door, menu: Arc::new(renewed.menu), ..self.clone() }
    }

    async fn set_menu(self: Arc<Self>, menu: Vec<MenuEntry>) {
        let (wanted, left_out) = commands(&menu);
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            tracing::info!("no command is made of these tools, which can still be typed: {names}");
        }
        if let Err(failure) = set(&self, wanted).await {
            tracing::warn!(%failure, "the application commands are not set; the bot works without them");
        }
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

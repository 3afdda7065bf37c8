//! Another configuration while the bot runs.

use super::Config;
use super::bot::TelegramBot;
use super::menu::set_menus;
use super::people::configured_people;
use cofferdam_chat::setup::{MenuEntry, Renewable, RenewedSettings};
use std::sync::Arc;

impl Renewable for TelegramBot {
    type Config = Config;

    fn renew(&self, renewed: RenewedSettings<Config>) -> Self {
        let base = self.base.renew(&renewed, &renewed.config.approvers);
        Self { base, door: self.door.with_people(configured_people(&renewed.config)), ..self.clone() }
    }

    async fn set_menu(self: Arc<Self>, menu: Vec<MenuEntry>) {
        set_menus(&self, &menu).await;
    }
}

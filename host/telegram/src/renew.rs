//! Another configuration while the bot runs.

use super::Config;
use super::bot::TelegramBot;
use super::menu::set_menus;
use super::people::named;
use cofferdam_chat::setup::{MenuEntry, Renewable, RenewedSettings};
use std::sync::Arc;

impl Renewable for TelegramBot {
    type Config = Config;

    fn renewed(&self, renewed: RenewedSettings<Config>) -> Self {
        let base = self.base.renewed(&renewed, &renewed.config.approvers);
        Self { base, door: self.door.renewed(named(&renewed.config)), ..self.clone() }
    }

    async fn set_menu(self: Arc<Self>, menu: Vec<MenuEntry>) {
        set_menus(&self, &menu).await;
    }
}

//! Another configuration while the bot runs.

use super::Config;
use super::bot::{Bot, named};
use super::menu::set_commands;
use cofferdam_chat::setup::{MenuEntry, Renewable, Renewed};
use std::sync::Arc;

impl Renewable for Bot {
    type Config = Config;

    fn renewed(&self, renewed: Renewed<Config>) -> Self {
        let base = self.base.renewed(&renewed, &renewed.config.approvers);
        let door = self.door.renewed(named(&renewed.config));
        Self { base, door, menu: Arc::new(renewed.menu), ..self.clone() }
    }

    async fn set_menu(self: Arc<Self>, menu: Vec<MenuEntry>) {
        set_commands(&self, &menu).await;
    }
}

//! Another configuration while the bot runs.

use super::Config;
use super::bot::Bot;
use super::menu::set_menus;
use super::people::named;
use cofferdam_chat::setup::{MenuEntry, Renewable, Renewed};
use std::sync::Arc;

impl Renewable for Bot {
    type Config = Config;

    fn renewed(&self, renewed: Renewed<Config>) -> Self {
        let base = self.base.renewed(&renewed, &renewed.config.approvers);
        Self { base, door: self.door.renewed(named(&renewed.config)), ..self.clone() }
    }

    async fn set_menu(self: Arc<Self>, menu: Vec<MenuEntry>) {
        set_menus(&self, &menu).await;
    }
}

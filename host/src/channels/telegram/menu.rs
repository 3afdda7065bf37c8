//! The command menu of the chat window. Best effort: without it the bot works as well.

use super::api::{Api, REQUEST_MAX};
use teloxide_core::payloads::SetMyCommands;
use teloxide_core::types::BotCommand;

/// An entry of the command menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MenuEntry {
    /// The tool's name, without `/`.
    pub name: String,
    /// One sentence.
    pub summary: String,
}

/// Telegram takes no more commands.
const ENTRIES_MAX: usize = 100;
/// Telegram takes no longer command; a tool beyond it can still be typed.
const NAME_CHARS_MAX: usize = 32;
/// Telegram takes no longer description.
const SUMMARY_CHARS_MAX: usize = 256;

/// Sets the menu to these tools and `/help`.
pub(super) async fn set_menu(api: &Api, entries: &[MenuEntry]) {
    if let Err(failure) = api.call(&SetMyCommands::new(commands(entries)), REQUEST_MAX).await {
        tracing::warn!(%failure, "the command menu is not set; the bot works without it");
    }
}

/// One entry that Telegram refuses would cost the whole menu, so each is made to fit.
fn commands(entries: &[MenuEntry]) -> Vec<BotCommand> {
    let help = MenuEntry { name: "help".into(), summary: "List the tools".into() };
    let fits = |entry: &&MenuEntry| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        (1..=NAME_CHARS_MAX).contains(&entry.name.len()) && entry.name.chars().all(plain)
    };
    let others = entries.iter().filter(|entry| entry.name != help.name).filter(fits);
    let all = std::iter::once(&help).chain(others).take(ENTRIES_MAX);
    all.map(|entry| {
        let mut summary: String = entry.summary.trim().chars().take(SUMMARY_CHARS_MAX).collect();
        if summary.chars().count() < 3 {
            summary.clone_from(&entry.name);
        }
        BotCommand::new(entry.name.clone(), summary)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, summary: &str) -> MenuEntry {
        MenuEntry { name: name.into(), summary: summary.into() }
    }

    #[test]
    fn every_entry_fits() {
        let long = "x".repeat(NAME_CHARS_MAX + 1);
        let entries = [
            entry("file_read", "Reads."),
            entry("Bad", "x"),
            entry(&long, "x"),
            entry("t", ""),
            entry("help", "other"),
        ];
        let shown: Vec<_> = commands(&entries).into_iter().map(|c| (c.command, c.description)).collect();
        let expected = [("help", "List the tools"), ("file_read", "Reads."), ("t", "t")];
        assert_eq!(shown, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        let many: Vec<_> = (0..200).map(|n| entry(&format!("t{n}"), &"é".repeat(300))).collect();
        let commands = commands(&many);
        assert_eq!(commands.len(), ENTRIES_MAX);
        assert!(commands.iter().all(|c| c.description.chars().count() <= SUMMARY_CHARS_MAX));
    }
}

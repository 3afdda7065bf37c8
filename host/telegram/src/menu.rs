//! The command menus of the chat windows: one for all chats, one for each group in which not every
//! tool can be called. They are set where they are not as they should be. Best effort: without them
//! the bot works as well.

use super::api::{REQUEST_MAX, TelegramApi};
use super::bot::TelegramBot;
use super::failure::ApiFailure;
use cofferdam_chat::people::GroupMembers;
use cofferdam_chat::setup::MenuEntry;
use std::collections::BTreeSet;
use teloxide_core::payloads::{DeleteMyCommands, GetMyCommands, SetMyCommands};
use teloxide_core::types::{BotCommand, BotCommandScope, ChatId, Recipient};

/// Telegram takes no more commands.
const ENTRIES_MAX: usize = 100;
/// Telegram takes no longer command; a tool beyond it can still be typed.
const NAME_CHARS_MAX: usize = 32;
/// Telegram takes no longer description.
const SUMMARY_CHARS_MAX: usize = 256;

/// Groups whose menus are looked at; the configuration may name more.
const GROUPS_MAX: usize = 50;

/// Makes the menus show these and `/help`, in single groups as far as they can be called
/// there.
pub(super) async fn set_menus(bot: &TelegramBot, entries: &[MenuEntry]) {
    let mut failed = set_menu(&bot.api, BotCommandScope::Default, commands(entries, None)).await.err();
    for (id, group) in bot.base.door.groups().named.iter().take(GROUPS_MAX) {
        let chat_id = Recipient::Id(ChatId(bot.moves.current_id(*id)));
        // Without one of its own a chat shows the menu for all.
        let own = match &group.profiles {
            Some(profiles) if group.members != GroupMembers::None => commands(entries, Some(profiles)),
            _ => Vec::new(),
        };
        failed = failed.or(set_menu(&bot.api, BotCommandScope::Chat { chat_id }, own).await.err());
    }
    if let Some(failure) = failed {
        tracing::warn!(%failure, "a command menu is not set; the bot works without it");
    }
}

async fn set_menu(
    api: &TelegramApi,
    scope: BotCommandScope,
    wanted: Vec<BotCommand>,
) -> Result<(), ApiFailure> {
    let mut look = GetMyCommands::new();
    look.scope = Some(scope.clone());
    let found = api.call(&look, REQUEST_MAX).await;
    let found = found.ok().and_then(|found| serde_json::from_str::<Vec<BotCommand>>(found.get()).ok());
    // What cannot be looked at, as the menu of a group without this bot, is not cleared either.
    if found.as_ref() == Some(&wanted) || (found.is_none() && wanted.is_empty()) {
        return Ok(());
    }
    if wanted.is_empty() {
        let mut delete = DeleteMyCommands::new();
        delete.scope = Some(scope);
        return api.call(&delete, REQUEST_MAX).await.map(|_| ());
    }
    let mut set = SetMyCommands::new(wanted);
    set.scope = Some(scope);
    api.call(&set, REQUEST_MAX).await.map(|_| ())
}

/// The menu where tools of these profiles can be called; of all, where none is given.
///
/// One entry that Telegram refuses would cost the whole menu, so each is made to fit.
fn commands(entries: &[MenuEntry], profiles: Option<&BTreeSet<String>>) -> Vec<BotCommand> {
    let help = MenuEntry { name: "help".into(), summary: "List the tools".into(), tool: None };
    let fits = |entry: &&MenuEntry| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        (1..=NAME_CHARS_MAX).contains(&entry.name.len()) && entry.name.chars().all(plain)
    };
    let here = |entry: &&MenuEntry| match (profiles, &entry.tool) {
        (Some(profiles), Some(tool)) => profiles.contains(&tool.profile),
        _ => true,
    };
    let others = entries.iter().filter(|entry| entry.name != help.name).filter(fits).filter(here);
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
    use cofferdam_chat::setup::MenuTool;

    fn entry(name: &str, summary: &str) -> MenuEntry {
        MenuEntry { name: name.into(), summary: summary.into(), tool: Some(under("p")) }
    }

    fn under(profile: &str) -> MenuTool {
        MenuTool { profile: profile.into(), arguments: serde_json::Value::Null, takes_files: false }
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
        let shown: Vec<_> =
            commands(&entries, None).into_iter().map(|c| (c.command, c.description)).collect();
        let expected = [("help", "List the tools"), ("file_read", "Reads."), ("t", "t")];
        assert_eq!(shown, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        let many: Vec<_> = (0..200).map(|n| entry(&format!("t{n}"), &"é".repeat(300))).collect();
        let commands = commands(&many, None);
        assert_eq!(commands.len(), ENTRIES_MAX);
        assert!(commands.iter().all(|c| c.description.chars().count() <= SUMMARY_CHARS_MAX));
    }

    #[test]
    fn a_group_is_shown_what_can_be_called_there() {
        let word = MenuEntry { tool: None, ..entry("cancel", "Stops.") };
        let entries = [
            entry("file_read", "Reads."),
            MenuEntry { tool: Some(under("q")), ..entry("w", "Writes.") },
            word,
        ];
        let shown = |profile: &str| {
            let commands = commands(&entries, Some(&BTreeSet::from([profile.to_owned()])));
            commands.into_iter().map(|c| c.command).collect::<Vec<_>>()
        };
        assert_eq!(shown("p"), ["help", "file_read", "cancel"]);
        assert_eq!(shown("q"), ["help", "w", "cancel"]);
        assert_eq!(shown("none"), ["help", "cancel"]);
    }
}

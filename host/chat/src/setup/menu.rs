//! The commands that a channel shows.

use serde_json::Value;

/// An entry of the command menu.
#[derive(Clone, Debug, PartialEq)]
pub struct MenuEntry {
    /// The tool's name, without `/`.
    pub name: String,
    /// One sentence.
    pub summary: String,
    /// What it is, if it is a tool; absent for a word to the gateway itself, which is there
    /// in every chat of the bot.
    pub tool: Option<MenuTool>,
}

/// A tool of the menu.
#[derive(Clone, Debug, PartialEq)]
pub struct MenuTool {
    /// Under which it runs.
    pub profile: String,
    /// The JSON Schema of its arguments.
    pub arguments: Value,
    /// Whether it uses the files of a message.
    pub takes_files: bool,
}

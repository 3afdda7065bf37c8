//! What a message says to the gateway itself: whether it is a command, for whom, and the words that
//! are for the gateway and for no provider. Every channel reads them here; what a menu shows of
//! them is the channel's own.

/// What a text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// A command for this bot, as the provider knows it: without `@botname`, `/start` as `/help`.
    Command(String),
    /// A command for another bot.
    ForAnother,
    /// Anything else, as typed.
    Plain(String),
}

/// Words to the gateway itself, in upper or lower case: no tool is meant by them.
const WORDS: [&str; 7] = ["new", "retry", "cancel", "help", "start", "steer", "voice"];

/// Whether a name is a word to the gateway itself: a tool or workflow that is called so cannot be
/// called in a chat.
pub fn is_word(name: &str) -> bool {
    WORDS.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// What `text` is to the bot of this user name.
///
/// A command is `/` and letters, digits or `_`, before anything but blanks, perhaps `@` and a bot's
/// name, then the end or a blank: `/shared/a.txt` is none.
pub fn parse_command(text: &str, bot_name: Option<&str>) -> CommandLine {
    let text = text.trim_start();
    let Some(typed) = split_command(text).filter(|typed| typed.is_plain()) else {
        return CommandLine::Plain(text.to_owned());
    };
    match typed.bot {
        Some(bot) if !bot_name.is_some_and(|name| name.eq_ignore_ascii_case(bot)) => CommandLine::ForAnother,
        _ => match typed.word() {
            // What follows `/start` is a link's parameter, which nothing here uses.
            Some("start") => CommandLine::Command("/help".into()),
            word => CommandLine::Command(format!("/{}{}", word.unwrap_or(typed.name), typed.rest)),
        },
    }
}

/// A command in its parts, as it was typed: `/name@bot rest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedCommand<'t> {
    /// What stands between `/` and the end, a blank, or `@`; never empty.
    pub name: &'t str,
    /// The bot that it is for, where one is named.
    pub bot: Option<&'t str>,
    /// All that follows, with the blank before it.
    pub rest: &'t str,
}

/// The parts of a text that begins with `/` and something, blanks before it apart.
pub fn split_command(text: &str) -> Option<TypedCommand<'_>> {
    let text = text.trim_start().strip_prefix('/')?;
    let (word, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    let (name, bot) = match word.split_once('@') {
        Some((name, bot)) => (name, Some(bot)),
        None => (word, None),
    };
    (!name.is_empty()).then_some(TypedCommand { name, bot, rest })
}

impl<'t> TypedCommand<'t> {
    /// Whether the name is letters, digits and `_`: nobody means anything else by it than a
    /// command.
    pub fn is_plain(&self) -> bool {
        self.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// The word to the gateway itself that the name is, in lower case.
    pub fn word(&self) -> Option<&'static str> {
        WORDS.into_iter().find(|word| self.name.eq_ignore_ascii_case(word))
    }

    /// What follows the name, without the blanks around it.
    pub fn arguments(&self) -> &'t str {
        self.rest.trim()
    }
}

/// What a command adds to the turn that runs: all that follows `/steer`.
pub fn steer_text(command: &str) -> Option<&str> {
    let typed = split_command(command).filter(|typed| typed.word() == Some("steer"))?;
    Some(typed.rest.trim_start())
}

/// What a word asks for. It counts only when it is the whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlWord {
    /// Forget the conversation.
    New,
    /// Answer the last request again.
    Retry,
    /// Stop what runs. A channel acts on it at once; a turn of its own finds nothing to stop.
    Cancel,
    /// Say how to use this.
    Help,
}

/// The word that a message is, if it is one.
pub fn word(text: &str) -> Option<ControlWord> {
    match split_command(text).filter(|typed| typed.arguments().is_empty())?.word()? {
        "new" => Some(ControlWord::New),
        "retry" => Some(ControlWord::Retry),
        "cancel" => Some(ControlWord::Cancel),
        "help" | "start" => Some(ControlWord::Help),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: CommandLine) {
        assert_eq!(parse_command(text, Some("Our_bot")), expected, "{text:?}");
    }

    #[test]
    fn commands_for_this_bot_lose_its_name() {
        let command = |text: &str| CommandLine::Command(text.into());
        check("/file_read path=/shared/a", command("/file_read path=/shared/a"));
        check("/file_read@our_BOT  path=a@b", command("/file_read  path=a@b"));
        check("/file_read\n{\"a\":1}", command("/file_read\n{\"a\":1}"));
        check("/start", command("/help"));
        check("/start@our_bot payload", command("/help"));
        check(" /help", command("/help"));
        // Words to the gateway itself are typed in any case; names of tools are what they are.
        check("/HELP", command("/help"));
        check("/Start@our_bot", command("/help"));
        check("/Help File_List", command("/help File_List"));
        check("/STEER Use B", command("/steer Use B"));
        check("/File_Read a", command("/File_Read a"));
    }

    #[test]
    fn what_is_a_word_to_the_gateway_is_no_name() {
        for name in ["new", "Retry", "cancel", "help", "start", "steer", "voice"] {
            assert!(
                is_word(name) && split_command(&format!("/{name}")).and_then(|typed| typed.word()).is_some()
            );
        }
        for name in ["", "file_read", "helper", "voices", "say"] {
            assert!(!is_word(name), "{name}");
        }
    }

    #[test]
    fn what_steers_is_all_that_follows_the_word() {
        for (command, expected) in [
            ("/steer use the other file", Some("use the other file")),
            ("/steer\n in two\nlines", Some("in two\nlines")),
            ("/steer", Some("")),
            ("/Steer b", Some("b")),
            ("/steering wheel", None),
            ("/new", None),
        ] {
            assert_eq!(steer_text(command), expected, "{command:?}");
        }
    }

    #[test]
    fn a_command_is_read_in_its_parts() {
        let parts = |text| split_command(text).map(|typed| (typed.name, typed.bot, typed.arguments()));
        assert_eq!(parts(" /a@b  c d "), Some(("a", Some("b"), "c d")));
        assert_eq!(parts("/shared/a.txt is it"), Some(("shared/a.txt", None, "is it")));
        assert!(!split_command("/shared/a.txt").expect("parts").is_plain());
        assert!(!split_command("/attachment.add").expect("parts").is_plain());
        for text in ["", "a", "/", "/ x", "/@our_bot", "see /help"] {
            assert_eq!(split_command(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_rest_is_not_ours() {
        check("/file_read@other_bot x", CommandLine::ForAnother);
        assert_eq!(parse_command("/x@our_bot", None), CommandLine::ForAnother);
        for text in ["", "hello", "/", "/ x", "/shared/a.txt", "see /help", "/é", "/@our_bot"] {
            check(text, CommandLine::Plain(text.into()));
        }
    }

    #[test]
    fn a_word_is_the_whole_message() {
        assert_eq!(word(" /new\n"), Some(ControlWord::New));
        assert_eq!((word("/retry"), word("/cancel")), (Some(ControlWord::Retry), Some(ControlWord::Cancel)));
        assert_eq!((word("/help"), word("/start")), (Some(ControlWord::Help), Some(ControlWord::Help)));
        assert_eq!((word("/NEW"), word("/Cancel")), (Some(ControlWord::New), Some(ControlWord::Cancel)));
        assert_eq!(word("/help@our_bot"), Some(ControlWord::Help));
        for text in ["", "new", "/new page", "please /new", "/newer", "/steer", "/help me"] {
            assert_eq!(word(text), None, "{text:?}");
        }
    }
}

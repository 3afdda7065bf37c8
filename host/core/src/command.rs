//! What a message says to the gateway itself: whether it is a command, for whom, and the words that are for the gateway
//! and for no provider. Every channel reads them here; what a menu shows of them is the channel's own.

/// What a text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// A command for this bot, as the provider knows it: without `@botname`, `/start` as `/help`.
    Command(String),
    /// A command for another bot.
    ForAnother,
    /// Anything else, as typed.
    Plain(String),
}

/// What `text` is to the bot of this user name.
///
/// A command is `/` and letters, digits or `_`, before anything but blanks, perhaps `@` and a bot's name, then the
/// end or a blank: `/shared/a.txt` is none.
pub fn spoken(text: &str, bot_name: Option<&str>) -> Spoken {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let Some(word) = word.strip_prefix('/') else { return Spoken::Plain(text.to_owned()) };
    let (name, bot) = match word.split_once('@') {
        Some((name, bot)) => (name, Some(bot)),
        None => (word, None),
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Spoken::Plain(text.to_owned());
    }
    match bot {
        Some(bot) if !bot_name.is_some_and(|name| name.eq_ignore_ascii_case(bot)) => Spoken::ForAnother,
        // What follows `/start` is a link's parameter, which nothing here uses.
        _ if name == "start" => Spoken::Command("/help".into()),
        _ => Spoken::Command(format!("/{name}{rest}")),
    }
}

/// What a command adds to the turn that runs: all that follows `/steer`.
pub fn steered(command: &str) -> Option<&str> {
    let rest = command.strip_prefix("/steer")?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim_start())
}

/// What a word asks for. It counts only when it is the whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
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
pub fn word(text: &str) -> Option<Word> {
    match text.trim() {
        "/new" => Some(Word::New),
        "/retry" => Some(Word::Retry),
        "/cancel" => Some(Word::Cancel),
        "/help" | "/start" => Some(Word::Help),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Spoken) {
        assert_eq!(spoken(text, Some("Our_bot")), expected, "{text:?}");
    }

    #[test]
    fn commands_for_this_bot_lose_its_name() {
        let command = |text: &str| Spoken::Command(text.into());
        check("/file_read path=/shared/a", command("/file_read path=/shared/a"));
        check("/file_read@our_BOT  path=a@b", command("/file_read  path=a@b"));
        check("/file_read\n{\"a\":1}", command("/file_read\n{\"a\":1}"));
        check("/start", command("/help"));
        check("/start@our_bot payload", command("/help"));
        check(" /help", command("/help"));
    }

    #[test]
    fn what_steers_is_all_that_follows_the_word() {
        for (command, expected) in [
            ("/steer use the other file", Some("use the other file")),
            ("/steer\n in two\nlines", Some("in two\nlines")),
            ("/steer", Some("")),
            ("/steering wheel", None),
            ("/new", None),
        ] {
            assert_eq!(steered(command), expected, "{command:?}");
        }
    }

    #[test]
    fn the_rest_is_not_ours() {
        check("/file_read@other_bot x", Spoken::ForAnother);
        assert_eq!(spoken("/x@our_bot", None), Spoken::ForAnother);
        for text in ["", "hello", "/", "/ x", "/shared/a.txt", "see /help", "/é", "/@our_bot"] {
            check(text, Spoken::Plain(text.into()));
        }
    }

    #[test]
    fn a_word_is_the_whole_message() {
        assert_eq!(word(" /new\n"), Some(Word::New));
        assert_eq!((word("/retry"), word("/cancel")), (Some(Word::Retry), Some(Word::Cancel)));
        assert_eq!((word("/help"), word("/start")), (Some(Word::Help), Some(Word::Help)));
        for text in ["", "new", "/new page", "please /new", "/newer", "/NEW"] {
            assert_eq!(word(text), None, "{text:?}");
        }
    }
}

//! The words that are for the gateway and not for a provider. They count only when they are the whole message.

/// What such a word asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
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
pub(super) fn word(text: &str) -> Option<Word> {
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

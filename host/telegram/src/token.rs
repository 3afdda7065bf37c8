//! The bot's token: a secret that prints as `***` and is taken out of all that might repeat it.

use cofferdam_core::secret::Secret;
use std::fmt;

/// A bot token. It goes into request URLs and nowhere else.
#[derive(Clone)]
pub struct BotToken {
    whole: Secret,
    /// The half behind the colon, which goes alone, too: URLs may spell the colon `%3A`.
    half: Option<Secret>,
}

impl BotToken {
    /// A token as an environment variable holds it; blanks around it are not part of it.
    ///
    /// `None` for anything that cannot stand in a URL as it is: no token of Telegram's is like
    /// that.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
        let sound = !text.is_empty() && text.len() <= 256 && text.chars().all(plain);
        let half = text.split_once(':').map(|(_, half)| half).filter(|half| half.len() >= 8);
        sound.then(|| Self { whole: Secret::new(text), half: half.map(Secret::new) })
    }

    /// The secret itself, for the URL of a request.
    pub(super) fn reveal(&self) -> &str {
        self.whole.reveal()
    }

    /// `text` without the token: for what a server or a library says.
    pub fn scrub(&self, text: &str) -> String {
        let scrubbed = self.whole.scrub(text);
        match &self.half {
            Some(half) => half.scrub(&scrubbed),
            None => scrubbed,
        }
    }
}

impl fmt::Debug for BotToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.whole)
    }
}

impl fmt::Display for BotToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_prints() {
        let token = BotToken::parse(" 123:abcDEF_-456\n").expect("a token");
        assert_eq!(token.reveal(), "123:abcDEF_-456");
        assert_eq!(format!("{token} {token:?} {:?}", Some(&token)), "*** *** Some(***)");
        let said = "GET http://h/bot123:abcDEF_-456/x, http://h/bot123%3AabcDEF_-456/x";
        assert_eq!(token.scrub(said), "GET http://h/bot***/x, http://h/bot123%3A***/x");
    }

    #[test]
    fn what_could_change_a_url_is_no_token() {
        for text in ["", " ", "1:a/../b", "1:a?b", "1:a#b", "1:a b", "1:ä", "1:%2e"] {
            assert!(BotToken::parse(text).is_none(), "{text}");
        }
    }
}

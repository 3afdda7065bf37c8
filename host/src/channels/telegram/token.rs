//! The bot's token: a secret that prints as `***` and is taken out of whatever might repeat it.

use std::fmt;

/// A bot token. It goes into request URLs and nowhere else.
#[derive(Clone)]
pub struct Token(String);

/// What stands in for a token wherever text is shown.
const HIDDEN: &str = "***";

impl Token {
    /// A token as an environment variable holds it; blanks around it are not part of it.
    ///
    /// `None` for anything that cannot stand in a URL as it is: no token of Telegram's is like that.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
        (!text.is_empty() && text.len() <= 256 && text.chars().all(plain)).then(|| Self(text.to_owned()))
    }

    /// The secret itself, for the URL of a request.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// `text` without the token: for what a server or a library says.
    ///
    /// The secret half behind the colon goes alone, too: URLs may spell the colon `%3A`.
    pub fn scrub(&self, text: &str) -> String {
        let scrubbed = text.replace(&self.0, HIDDEN);
        match self.0.split_once(':') {
            Some((_, secret)) if secret.len() >= 8 => scrubbed.replace(secret, HIDDEN),
            _ => scrubbed,
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_prints() {
        let token = Token::parse(" 123:abcDEF_-456\n").expect("a token");
        assert_eq!(token.reveal(), "123:abcDEF_-456");
        assert_eq!(format!("{token} {token:?} {:?}", Some(&token)), "*** *** Some(***)");
        let said = "GET http://h/bot123:abcDEF_-456/x, http://h/bot123%3AabcDEF_-456/x";
        assert_eq!(token.scrub(said), "GET http://h/bot***/x, http://h/bot123%3A***/x");
    }

    #[test]
    fn what_could_change_a_url_is_no_token() {
        for text in ["", " ", "1:a/../b", "1:a?b", "1:a#b", "1:a b", "1:ä", "1:%2e"] {
            assert!(Token::parse(text).is_none(), "{text}");
        }
    }
}

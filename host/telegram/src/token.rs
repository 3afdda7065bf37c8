//! The bot's token: a secret that prints as `***` and is taken out of all that might repeat it.

use cofferdam_core::secret::Secret;

/// A bot token. It goes into request URLs and nowhere else.
#[derive(Clone, Debug)]
pub struct BotToken {
    whole: Secret,
    /// The half behind the colon, which is known as a secret for as long as the token is held: it
    /// opens as much without its number, which is public.
    _half: Option<Secret>,
}

impl BotToken {
    /// A token as an environment variable holds it; blanks around it are not part of it.
    ///
    /// `None` for anything that has not the form of one: digits, a colon, then letters, digits, `_`
    /// and `-`. So it can stand in a URL as it is.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (id, half) = text.split_once(':')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let sound = !id.is_empty() && id.chars().all(|c| c.is_ascii_digit()) && !half.is_empty();
        (sound && text.len() <= 256 && half.chars().all(plain))
            .then(|| Self { whole: Secret::new(text), _half: (half.len() >= 8).then(|| Secret::new(half)) })
    }

    /// The secret itself, for the URL of a request.
    pub(super) fn reveal(&self) -> &str {
        self.whole.reveal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::secret::redact;

    #[test]
    fn it_never_prints() {
        let token = BotToken::parse(" 123:abcDEF_-456\n").expect("a token");
        assert_eq!(token.reveal(), "123:abcDEF_-456");
        assert_eq!(format!("{token:?}"), "BotToken { whole: ***, _half: Some(***) }");
        let said = "GET http://h/bot123:abcDEF_-456/x, http://h/bot123%3AabcDEF_-456/x abcDEF_-456";
        assert_eq!(redact(said), "GET http://h/bot***/x, http://h/bot***/x ***");
    }

    #[test]
    fn a_text_of_another_form_is_no_token() {
        for text in ["", " ", "1:a/../b", "1:a?b", "1:a#b", "1:a b", "1:ä", "1:%2e"] {
            assert!(BotToken::parse(text).is_none(), "{text} could change a URL");
        }
        for text in
            ["abcdefgh", "123456", ":abcdefgh", "123:", "abc:defgh", "-1:a", "１:a", "bot123:abc", "1:a:b"]
        {
            assert!(BotToken::parse(text).is_none(), "{text}");
        }
        assert!(BotToken::parse("1:a").is_some());
    }
}

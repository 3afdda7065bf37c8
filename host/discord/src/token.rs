//! The bot's token: a secret that prints as `***` and is taken out of all that might repeat it.

use cofferdam_core::secret::Secret;

/// A bot token, without `Bot `. It goes into one header and into two payloads of the gateway, and
/// nowhere else.
#[derive(Clone, Debug)]
pub struct BotToken(Secret);

impl BotToken {
    /// A token as an environment variable holds it; blanks around it are not part of it.
    ///
    /// `None` for anything that has not the form of one: three parts of letters, digits, `_` and
    /// `-`, with dots between.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain = |part: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            !part.is_empty() && part.chars().all(plain)
        };
        let sound = text.len() <= 256 && text.split('.').count() == 3 && text.split('.').all(plain);
        sound.then(|| Self(Secret::new(text)))
    }

    /// The secret itself.
    pub(super) fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::secret::redact;

    #[test]
    fn it_never_prints_and_has_one_form() {
        let token = BotToken::parse(" MTA.Gab-_.c3VyZQ\n").expect("a token");
        assert_eq!(token.reveal(), "MTA.Gab-_.c3VyZQ");
        assert_eq!(format!("{token:?}"), "BotToken(***)");
        assert_eq!(redact("Bot MTA.Gab-_.c3VyZQ!"), "Bot ***!");
        for text in ["", " ", "Bot a.b.c", "a.b", "a.b.c.d", "a..c", "123:abc", "a.b\nc.d", "a.ä.c", "a.b.c/"]
        {
            assert!(BotToken::parse(text).is_none(), "{text:?}");
        }
    }
}

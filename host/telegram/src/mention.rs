//! Mentions of this bot by its user name.
//!
//! One is `@` and the name, in any case, that no letter, digit, `_` or `@` touches: an address of
//! e-mail is none.

use cofferdam_chat::handler::Mentions;

/// A user name, without `@`.
pub(super) struct Username<'n>(pub(super) &'n str);

impl Mentions for Username<'_> {
    fn next(&self, text: &str, before: Option<char>) -> Option<(usize, usize)> {
        let (username, part) = (self.0, |c: char| c.is_alphanumeric() || c == '_' || c == '@');
        let found = text.match_indices('@').map(|(at, _)| at).find(|at| {
            let behind = text.get(at + 1..at + 1 + username.len());
            let touched = text[..*at].chars().next_back().or(before.filter(|_| *at == 0)).is_some_and(part);
            behind.is_some_and(|name| name.eq_ignore_ascii_case(username))
                && !touched
                && !text[at + 1 + username.len()..].chars().next().is_some_and(part)
        });
        found.map(|at| (at, 1 + username.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_chat::handler::{strip_mention, text_after_mention};

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(strip_mention(text, &Username("Our_bot")).as_deref(), expected, "{text:?}");
    }

    #[test]
    fn a_mention_of_the_bot_goes_and_the_words_stay() {
        check("@our_bot what is this?", Some("what is this?"));
        check("  @OUR_BOT, what is this?", Some("what is this?"));
        check("@our_bot: /file_read path=/shared/a", Some("/file_read path=/shared/a"));
        check("hey @our_bot what is this?", Some("hey what is this?"));
        check("what is this, @our_bot?", Some("what is this, ?"));
        check("what is this @our_bot", Some("what is this"));
        check("@our_bot", Some(""));
        check("@our_bot @our_bot hi @our_bot", Some("hi"));
        check("(@our_bot)", Some("()"));
        check("@our_bot\nline\n\nline", Some("line\n\nline"));
        check("é @our_bot é", Some("é é"));
        assert_eq!(text_after_mention(" @our_BOT: /x a", &Username("our_bot")), Some("/x a"));
        assert_eq!(text_after_mention("hi @our_bot", &Username("our_bot")), None);
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for text in [
            "",
            "hello",
            "@our_bot2 hi",
            "@our_bots",
            "me@our_bot",
            "@@our_bot",
            "@our_bot@example.org",
            "@our_",
            "@é",
            "our_bot",
        ] {
            check(text, None);
        }
    }
}

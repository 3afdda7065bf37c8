//! Mentions of this bot by its user name.
//!
//! One is `@` and the name, in any case, that no letter, digit, `_` or `@` touches: an address of
//! e-mail is none.

/// Finds the next mention of the bot of this user name, which is without `@`: where it begins, and
/// how long it is.
pub(super) fn next_mention(username: &str) -> impl Fn(&str, Option<char>) -> Option<(usize, usize)> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '@';
    move |text, before| {
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
        assert_eq!(strip_mention(text, next_mention("Our_bot")).as_deref(), expected, "{text:?}");
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
        assert_eq!(text_after_mention(" @our_BOT: /x a", next_mention("our_bot")), Some("/x a"));
        assert_eq!(text_after_mention("hi @our_bot", next_mention("our_bot")), None);
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

//! Whether a text mentions this bot by its user name, and the text without that. Pure.

/// `text` without the mentions of this user name; `None` when there is none.
///
/// A mention is `@` and the name, in any case, that no letter, digit, `_` or `@` touches: an address of e-mail is
/// none. At the beginning a comma or colon behind it goes as well.
pub(super) fn without_mention(text: &str, username: &str) -> Option<String> {
    let mut rest = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = next(&text[at..], username, rest.chars().next_back()) {
        rest.push_str(&text[at..at + found]);
        at += found + 1 + username.len();
        let after = text[at..].trim_start_matches([' ', '\t']);
        if rest.trim().is_empty() {
            rest.clear();
            at = text.len() - after.trim_start_matches([',', ':']).trim_start().len();
        } else if rest.ends_with(char::is_whitespace) || after.is_empty() {
            at = text.len() - after.len();
        }
    }
    if at == 0 {
        return None;
    }
    rest.push_str(&text[at..]);
    Some(rest.trim_end().to_owned())
}

/// What follows a mention at the beginning of `text`; `None` when there is none.
pub(super) fn after_mention<'t>(text: &'t str, username: &str) -> Option<&'t str> {
    let text = text.trim_start();
    let rest = text.get(1 + username.len()..).filter(|_| next(text, username, None) == Some(0))?;
    Some(rest.trim_start().trim_start_matches([',', ':']).trim_start())
}

/// Where the next mention in `text` begins, which `before` precedes.
fn next(text: &str, username: &str, before: Option<char>) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '@';
    text.match_indices('@').map(|(at, _)| at).find(|at| {
        let behind = text.get(at + 1..at + 1 + username.len());
        let touched = text[..*at].chars().next_back().or(before.filter(|_| *at == 0)).is_some_and(part);
        behind.is_some_and(|name| name.eq_ignore_ascii_case(username))
            && !touched
            && !text[at + 1 + username.len()..].chars().next().is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(without_mention(text, "Our_bot").as_deref(), expected, "{text:?}");
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
        assert_eq!(after_mention(" @our_BOT: /x a", "our_bot"), Some("/x a"));
        assert_eq!(after_mention("hi @our_bot", "our_bot"), None);
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

//! A text without the mentions of this bot, however a platform writes them. Pure.

/// `text` without the mentions; `None` when there is none. At the beginning a comma or colon behind
/// it goes as well.
///
/// `next_mention` finds the next one in a text: where it begins, and how long it is. It is given
/// what stands before that text.
pub fn strip_mention(
    text: &str,
    next_mention: impl Fn(&str, Option<char>) -> Option<(usize, usize)>,
) -> Option<String> {
    let mut rest = String::with_capacity(text.len());
    let mut at = 0;
    while let Some((found, length)) = next_mention(&text[at..], rest.chars().next_back()) {
        rest.push_str(&text[at..at + found]);
        at += found + length;
        let after = text[at..].trim_start_matches([' ', '\t']);
        if rest.trim().is_empty() {
            rest.clear();
            at = text.len() - skip_separators(after).len();
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

/// What follows a mention at the beginning of `text`; `None` when there is none. `next_mention` is
/// that of [`strip_mention`].
pub fn text_after_mention(
    text: &str,
    next_mention: impl Fn(&str, Option<char>) -> Option<(usize, usize)>,
) -> Option<&str> {
    let text = text.trim_start();
    let (_, length) = next_mention(text, None).filter(|(at, _)| *at == 0)?;
    Some(skip_separators(&text[length..]))
}

fn skip_separators(text: &str) -> &str {
    text.trim_start().trim_start_matches([',', ':']).trim_start()
}

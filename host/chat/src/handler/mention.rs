//! A text without the mentions of this bot, however a platform writes them. Pure.

/// Finds the next mention: where it begins, and how long it is. It is given what stands before the
/// text.
pub trait Mentions {
    /// In `text`, which `before` precedes.
    fn next(&self, text: &str, before: Option<char>) -> Option<(usize, usize)>;
}

/// `text` without the mentions; `None` when there is none. At the beginning a comma or colon behind
/// it goes as well.
pub fn strip_mention(text: &str, mentions: &impl Mentions) -> Option<String> {
    let mut rest = String::with_capacity(text.len());
    let mut at = 0;
    while let Some((found, length)) = mentions.next(&text[at..], rest.chars().next_back()) {
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

/// What follows a mention at the beginning of `text`; `None` when there is none.
pub fn text_after_mention<'t>(text: &'t str, mentions: &impl Mentions) -> Option<&'t str> {
    let text = text.trim_start();
    let (_, length) = mentions.next(text, None).filter(|(at, _)| *at == 0)?;
    Some(skip_separators(&text[length..]))
}

fn skip_separators(text: &str) -> &str {
    text.trim_start().trim_start_matches([',', ':']).trim_start()
}

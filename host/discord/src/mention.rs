//! Whether a text mentions this bot, `<@id>` or `<@!id>`, and the text without that. Pure.

use super::route::Id;

/// `text` without the mentions of this bot; `None` when there is none. At the beginning a comma or colon behind it goes as
/// well.
pub(super) fn without_mention(text: &str, me: Id) -> Option<String> {
    let (mut rest, mut left, mut found) = (String::with_capacity(text.len()), text, false);
    while let Some((at, length)) = next(left, me) {
        found = true;
        rest.push_str(&left[..at]);
        left = &left[at + length..];
        if rest.trim().is_empty() {
            rest.clear();
            left = behind(left);
        } else if rest.ends_with(char::is_whitespace) {
            left = left.trim_start_matches([' ', '\t']);
        }
    }
    rest.push_str(left);
    found.then(|| rest.trim_end().to_owned())
}

/// What follows a mention at the beginning of `text`; `None` when there is none.
pub(super) fn after_mention(text: &str, me: Id) -> Option<&str> {
    let text = text.trim_start();
    let (_, length) = next(text, me).filter(|(at, _)| *at == 0)?;
    Some(behind(&text[length..]))
}

fn behind(text: &str) -> &str {
    text.trim_start().trim_start_matches([',', ':']).trim_start()
}

/// Where the next mention begins, and how long it is.
fn next(text: &str, me: Id) -> Option<(usize, usize)> {
    let forms = [format!("<@{me}>"), format!("<@!{me}>")];
    forms.iter().filter_map(|form| Some((text.find(form.as_str())?, form.len()))).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_of_the_bot_goes_and_the_words_stay() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(without_mention(text, 5).as_deref(), expected, "{text:?}");
        };
        check("<@5> what is this?", Some("what is this?"));
        check("  <@!5>: what", Some("what"));
        check("hey <@5> what", Some("hey what"));
        check("what is this <@5>", Some("what is this"));
        check("<@5>", Some(""));
        check("<@5><@!5> hi <@5>", Some("hi"));
        check("<@5>\nline\n\nline", Some("line\n\nline"));
        for text in ["", "hello", "<@55> hi", "<@&5>", "<@ 5>", "@5", "<@5", "<#5>"] {
            check(text, None);
        }
        assert_eq!(after_mention(" <@5>, /x <@5>", 5), Some("/x <@5>"));
        assert_eq!(after_mention("hi <@5>", 5), None);
    }
}

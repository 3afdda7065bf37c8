//! Mentions of this bot: `<@id>` or `<@!id>`.

use super::wire::Snowflake;

/// Finds the next mention of the bot of this number: where it begins, and how long it is.
pub(super) fn next_mention(me: Snowflake) -> impl Fn(&str, Option<char>) -> Option<(usize, usize)> {
    let forms = [format!("<@{me}>"), format!("<@!{me}>")];
    move |text, _| forms.iter().filter_map(|form| Some((text.find(form.as_str())?, form.len()))).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_chat::handler::{strip_mention, text_after_mention};

    #[test]
    fn a_mention_of_the_bot_goes_and_the_words_stay() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(strip_mention(text, next_mention(5)).as_deref(), expected, "{text:?}");
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
        assert_eq!(text_after_mention(" <@5>, /x <@5>", next_mention(5)), Some("/x <@5>"));
        assert_eq!(text_after_mention("hi <@5>", next_mention(5)), None);
    }
}

//! Markdown and what becomes of it, as one line: styles in braces around what they cover.

use super::*;
use crate::outbound::split::tests::split;
use proptest::prelude::*;

/// The text with `{style:` and `}` around what a style covers.
fn shown(rich: &StyledText) -> String {
    let mut out = String::new();
    for at in 0..=rich.text.len() {
        out.extend(rich.spans.iter().filter(|span| span.end == at).map(|_| '}'));
        for span in rich.spans.iter().filter(|span| span.start == at) {
            let name = match &span.style {
                Style::Bold => "b".to_owned(),
                Style::Italic => "i".to_owned(),
                Style::Strike => "s".to_owned(),
                Style::Code => "c".to_owned(),
                Style::Pre { language } => format!("pre {}", language.as_deref().unwrap_or("-")),
                Style::Link { url } => format!("a {url}"),
                Style::Quote => "q".to_owned(),
            };
            out.push_str(&format!("{{{name}:"));
        }
        if rich.text.is_char_boundary(at) {
            out.extend(rich.text[at..].chars().next());
        }
    }
    out
}

fn check(source: &str, expected: &str) {
    let rich = markdown(source);
    assert!(rich.is_sound(), "{rich:?}");
    assert_eq!(shown(&rich), expected, "{source:?}");
}

#[test]
fn words_are_styled() {
    check("plain", "plain");
    check("**b** and *i* and _i_ and ~~s~~ and `c`", "{b:b} and {i:i} and {i:i} and {s:s} and {c:c}");
    check("***both***", "{i:{b:both}}");
    check("**a **b** c**", "{b:a b c}");
    check("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4");
    check("\\*no\\* &amp; &lt;", "*no* & <");
    check("`<b>&amp;`", "{c:<b>&amp;}");
    check("<b>x</b> and <script>", "<b>x</b> and <script>");
}

#[test]
fn blocks_stand_apart() {
    check("a\nb  \nc\n\n\n\nd", "a\nb\nc\n\nd");
    check("# Head *it*\ntext", "{b:Head {i:it}}\n\ntext");
    check("a\n\n---\n\nb", "a\n\n———\n\nb");
    check("> a\n> b\n\nc", "{q:a\nb}\n\nc");
    check("> a\n> > b", "{q:a\n\nb}");
    check("<div>\nx\n</div>\n\ny", "<div>\nx\n</div>\n\ny");
}

#[test]
fn lists_are_readable() {
    check("- a\n- b\n  - c\n- d\n\ne", "• a\n• b\n  • c\n• d\n\ne");
    check("3. a\n4. b", "3. a\n4. b");
    check("- a\n\n- b\n\n  more", "• a\n• b\n\nmore");
    check("- [ ] a\n- [x] b", "• ☐ a\n• ☑ b");
    check("* **a**: b", "• {b:a}: b");
    check(&"- ".repeat(40), &markdown(&"- ".repeat(40)).text);
}

#[test]
fn code_keeps_its_language_and_is_left_as_it_is() {
    check("x\n```rust\nfn a() {}\n\n  **b**\n```\ny", "x\n\n{pre rust:fn a() {}\n\n  **b**}\n\ny");
    check("```c++ title=x\na\n```", "{pre c++:a}");
    check("```\"><b>\na\n```", "{pre -:a}");
    check("    indented", "{pre -:indented}");
    check("```\n```", "");
}

#[test]
fn a_table_is_text_of_a_fixed_width() {
    check(
        "| Name | Size |\n|---|--:|\n| a.txt | **12** |\n| b | |\n\nend",
        "{pre -:Name   Size\n-----  ----\na.txt  12\nb}\n\nend",
    );
    let wide = format!("|a|b|\n|-|-|\n|{}|x|", "w".repeat(100));
    let rich = markdown(&wide);
    assert!(rich.text.ends_with(&format!("{}  x", "w".repeat(100))), "{rich:?}");
    check(
        "|a|\n|-|\n|[x](https://e.org/)|",
        "{pre -:a\n-\nx (https://e.org/)}".replace("\n-\n", &format!("\n{}\n", "-".repeat(18))).as_str(),
    );
}

#[test]
fn a_link_leads_only_where_it_is_safe() {
    check("[x](https://e.org/a?b=c&d)", "{a https://e.org/a?b=c&d:x}");
    check("<https://e.org/>", "{a https://e.org/:https://e.org/}");
    check("[m](mailto:a@e.org) <a@e.org>", "{a mailto:a@e.org:m} a@e.org");
    for to in [
        "javascript:alert(1)",
        "tg://resolve?domain=x",
        "file:///etc/passwd",
        "/relative",
        "data:text/html,x",
    ] {
        check(&format!("[x]({to})"), &format!("x ({to})"));
    }
    check("[bank](https://bank.example@e.org/)", "bank (https://bank.example@e.org/)");
    check("![alt](https://e.org/i.png)", "{a https://e.org/i.png:alt}");
    check("![](https://e.org/i.png)", "{a https://e.org/i.png:https://e.org/i.png}");
    check("[![a](https://e.org/i)](https://e.org/)", "{a https://e.org/:a}");
    let long = format!("https://e.org/{}", "x".repeat(URL_BYTES_MAX));
    assert!(markdown(&format!("[x]({long})")).spans.is_empty());
}

#[test]
fn what_is_not_finished_yet_is_shown_as_it_stands() {
    check("and **bo", "and **bo");
    check("```py\nimport", "{pre py:import}");
    check("[x](https://e", "[x](https://e");
    check("| a |\n", "| a |");
}

#[test]
fn nothing_grows_beyond_what_was_written() {
    for source in [
        "> ".repeat(20_000),
        "- ".repeat(20_000),
        format!("|{}\n|{}\n{}", "a|".repeat(500), "-|".repeat(500), "|\n".repeat(500)),
        format!("[a]: <{}>\n{}", "x".repeat(3000), "[a] ".repeat(3000)),
        "[".repeat(20_000),
        "*a _b ".repeat(5000),
    ] {
        let rich = markdown(&source);
        assert!(rich.is_sound());
        assert!(rich.text.len() < 100 * source.len(), "{} of {}", rich.text.len(), source.len());
    }
}

/// Pieces of Markdown that mean something together.
fn anything() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "a",
        "word ",
        "\n",
        "\n\n",
        "*",
        "**",
        "_",
        "~~",
        "`",
        "```",
        "```rust\n",
        "# ",
        "> ",
        "- ",
        "1. ",
        "    ",
        "|",
        "|-|",
        "[x](",
        "https://e.org/",
        ")",
        "<b>",
        "</b>",
        "&",
        "<",
        "😀",
        "e\u{301}",
        "👩\u{200D}👧",
        "\\",
        "---\n",
    ]);
    prop::collection::vec(token, 0..60).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn every_text_is_sound_and_loses_nothing_when_it_is_split(source in anything(), limit in 2_usize..40) {
        let rich = markdown(&source);
        prop_assert!(rich.is_sound(), "{rich:?}");
        let mut at = 0;
        let mut joined = String::new();
        for piece in split(&rich.text, limit) {
            let part = rich.slice(at..at + piece.len());
            at += piece.len();
            prop_assert!(part.is_sound() && part.text == piece, "{part:?}");
            prop_assert!(part.text.encode_utf16().count() <= limit);
            joined.push_str(&part.text);
        }
        prop_assert_eq!(joined, rich.text);
    }
}

//! Text with styles as Discord's Markdown. Every mark is this file's own, and closed; all else that
//! Discord would take for one is escaped, so that people read what was said, character for
//! character.

use cofferdam_chat::outbound::{Style, StyledSpan, StyledText};

/// A message's text holds so many characters.
pub(super) const TEXT_CHARS_MAX: usize = 2000;
/// A longer address is left out, and the words of its link stay.
const LINK_BYTES_MAX: usize = 500;

/// The text with its styles as Discord reads it.
pub(super) fn to_markdown(rich: &StyledText) -> String {
    let mut writer =
        Writer { out: String::with_capacity(rich.text.len() * 2), rich, at: 0, open: Vec::new() };
    for span in &rich.spans {
        writer.close(span.start);
        writer.put(span.start);
        writer.open(span);
    }
    writer.close(rich.text.len());
    writer.put(rich.text.len());
    writer.out
}

/// How long it is as Discord counts, in no way less.
pub(super) fn length(rich: &StyledText) -> usize {
    to_markdown(rich).encode_utf16().count()
}

struct Writer<'r> {
    out: String,
    rich: &'r StyledText,
    at: usize,
    open: Vec<&'r StyledSpan>,
}

impl<'r> Writer<'r> {
    /// Writes up to here, as what is open has it.
    fn put(&mut self, until: usize) {
        let text = &self.rich.text[self.at..until];
        self.at = until;
        let verbatim = self.open.iter().any(|span| matches!(span.style, Style::Code | Style::Pre { .. }));
        let quoted = self.open.iter().any(|span| span.style == Style::Quote);
        let inline = self.open.iter().any(|span| span.style == Style::Code);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                c if !verbatim => self.escape(c, chars.peek().copied()),
                // A piece of code that has some is closed by two in a row, a block by three.
                '`' if inline || self.out.ends_with("``") => self.out.push_str("\u{200B}`\u{200B}"),
                c => self.out.push(c),
            }
            if c == '\n' && quoted {
                self.out.push_str("> ");
            }
        }
    }

    fn escape(&mut self, c: char, next: Option<char>) {
        let line = self.out.rsplit('\n').next().unwrap_or_default();
        let begins = line.chars().all(|c| c == ' ' || c == '>' || c == '\t');
        let number =
            || !line.trim_start().is_empty() && line.trim_start().bytes().all(|b| b.is_ascii_digit());
        let is_mark = match c {
            '\\' | '*' | '_' | '~' | '`' | '|' | '<' | '>' | '[' | ']' | '@' => true,
            // Headings, lists and small print at the beginning of a line.
            '#' | '-' | '+' => begins || line.trim_start() == "\\-",
            '.' | ')' => number(),
            // In an address nothing would be escaped, and Discord would fetch it.
            ':' => next == Some('/'),
            _ => false,
        };
        if is_mark {
            self.out.push('\\');
        }
        self.out.push(c);
    }

    fn open(&mut self, span: &'r StyledSpan) {
        match &span.style {
            Style::Bold => self.out.push_str("**"),
            Style::Italic => self.out.push('*'),
            Style::Strike => self.out.push_str("~~"),
            Style::Code => self.out.push_str(code_mark(self.rich, span)),
            Style::Quote => {
                self.begin_line();
                self.out.push_str("> ");
            }
            Style::Pre { language } => {
                self.begin_line();
                self.out.push_str("```");
                self.out.push_str(language.as_deref().unwrap_or_default());
                self.out.push('\n');
            }
            Style::Link { url } if is_shown(url) => self.out.push('['),
            Style::Link { .. } => {}
        }
        self.open.push(span);
    }

    /// Writes and closes what ends up to here.
    fn close(&mut self, until: usize) {
        while let Some(span) = self.open.last().copied().filter(|span| span.end <= until) {
            self.put(span.end);
            self.open.pop();
            match &span.style {
                Style::Bold => self.out.push_str("**"),
                Style::Italic => self.out.push('*'),
                Style::Strike => self.out.push_str("~~"),
                Style::Code => self.out.push_str(code_mark(self.rich, span)),
                Style::Quote => {}
                Style::Pre { .. } => {
                    self.begin_line();
                    self.out.push_str("```");
                    // What follows begins a line of its own.
                    if self.rich.text[self.at..].starts_with('\n') {
                        self.out.push('\n');
                        self.at += 1;
                    }
                }
                // In brackets nobody previews it.
                Style::Link { url } if is_shown(url) => self.out.push_str(&format!("](<{url}>)")),
                Style::Link { .. } => {}
            }
        }
    }

    fn begin_line(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }
}

/// What a piece of code begins and ends with: one mark would be closed by one that stands in it.
fn code_mark(rich: &StyledText, span: &StyledSpan) -> &'static str {
    if rich.text[span.start..span.end].contains('`') { "``" } else { "`" }
}

fn is_shown(url: &str) -> bool {
    url.len() <= LINK_BYTES_MAX && !url.contains(['<', '>', ' ', '\n', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_chat::outbound::markdown;
    use proptest::prelude::*;

    #[test]
    fn a_models_markdown_stays_markdown() {
        let check =
            |source: &str, expected: &str| assert_eq!(to_markdown(&markdown(source)), expected, "{source}");
        check("a **b *c*** `d_e` ~~f~~", "a **b *c*** `d_e` ~~f~~");
        check("```rust\na && *b*\n```\nc", "```rust\na && *b*\n```\n\nc");
        check("> q\n> r", "> q\n> r");
        check("[x](https://e.org/a_b)", "[x](<https://e.org/a_b>)");
        check("``a`[b](https://e.org)``", "``a\u{200B}`\u{200B}[b](https://e.org)``");
        check("a_b <@5>", "a\\_b \\<\\@5\\>");
        let long = format!("https://e.org/{}", "a".repeat(LINK_BYTES_MAX));
        check(&format!("[x]({long})"), "x");
    }

    #[test]
    fn a_block_that_is_cut_is_closed_and_opened_again_in_its_language() {
        let code: String = (0..400).map(|n| format!("let a_{n} = \"*{n}*\";\n")).collect();
        let said = markdown(&format!("See:\n```rust\n{code}```\nend"));
        let pieces = cofferdam_chat::outbound::split_text(&said, &super::super::send::CHANNEL_LIMITS);
        let written: Vec<String> = pieces.iter().map(to_markdown).collect();
        assert!(written.len() > 3);
        for piece in &written {
            assert!(piece.chars().count() <= TEXT_CHARS_MAX, "{}", piece.chars().count());
            assert_eq!(piece.matches("```").count(), 2, "{piece}");
        }
        assert!(written[1..].iter().all(|piece| piece.starts_with("```rust\n")));
        let lines = written.iter().flat_map(|piece| piece.lines()).filter(|line| line.starts_with("let "));
        assert_eq!(lines.count(), 400, "no line is cut or lost");
    }

    #[test]
    fn plain_text_is_read_as_it_was_said() {
        let check = |text: &str, expected: &str| {
            assert_eq!(to_markdown(&StyledText::plain(text)), expected, "{text}")
        };
        check("a*b*_c_ ~~d~~ `e` ||f||", "a\\*b\\*\\_c\\_ \\~\\~d\\~\\~ \\`e\\` \\|\\|f\\|\\|");
        check("<@5> @everyone <#1> <:x:2>", "\\<\\@5\\> \\@everyone \\<#1\\> \\<:x:2\\>");
        check("# a\n- b\n1. c\n-# d\n> e\n2) f", "\\# a\n\\- b\n1\\. c\n\\-\\# d\n\\> e\n2\\) f");
        check("a # b - c 1.5 d", "a # b - c 1.5 d");
        check("see https://e.org/a_b", "see https\\://e.org/a\\_b");
        check("{\"ok\":true,\"n\":1}", "{\"ok\":true,\"n\":1}");
        check("\\", "\\\\");
    }

    /// As Discord reads it: a backslash makes the next mark a character, blocks of code are what
    /// stands in them.
    fn read(written: &str) -> Option<String> {
        let (mut text, mut chars) = (String::new(), written.chars());
        while let Some(c) = chars.next() {
            match c {
                '\\' => text.push(chars.next().filter(|c| c.is_ascii_punctuation())?),
                '*' | '_' | '~' | '`' | '|' | '<' | '>' | '[' | ']' | '@' => return None,
                c => text.push(c),
            }
        }
        Some(text)
    }

    proptest! {
        #[test]
        fn whatever_is_said_is_read_so(text in "([a1.)#+\\-*_~`|<>\\[\\]@:\\\\ \n/é]|https://|<@5>){0,40}") {
            prop_assert_eq!(read(&to_markdown(&StyledText::plain(text.clone()))), Some(text));
        }

        #[test]
        fn a_piece_of_code_cannot_be_ended_from_within(code in "[`a]{1,20}") {
            let spans = vec![StyledSpan { start: 0, end: code.len(), style: Style::Code }];
            let mark = if code.contains('`') { "``" } else { "`" };
            let shown = to_markdown(&StyledText { text: code, spans });
            let inner = shown.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark)).expect("code");
            prop_assert!(!inner.contains(mark), "{}", shown);
            prop_assert!(!inner.starts_with('`') && !inner.ends_with('`'), "{}", shown);
        }

        #[test]
        fn a_block_of_code_cannot_be_ended_from_within(code in "[`a\n]{0,20}") {
            let end = code.len();
            prop_assume!(end > 0);
            let spans = vec![StyledSpan { start: 0, end, style: Style::Pre { language: None } }];
            let shown = to_markdown(&StyledText { text: code, spans });
            let inner = shown.strip_prefix("```\n").and_then(|rest| rest.strip_suffix("```")).expect("a block");
            prop_assert!(!inner.contains("```"), "{}", shown);
        }
    }
}

//! Text with styles in the HTML that Telegram takes:
//! <https://core.telegram.org/bots/api#html-style>. Every tag is this file's own, and closed;
//! everything else is escaped.

use cofferdam_chat::outbound::{Style, StyledSpan, StyledText};
use std::iter::Peekable;
use std::ops::Range;
use std::slice::Iter;

/// The text with its styles as HTML.
pub(super) fn html(rich: &StyledText) -> String {
    let mut out = String::with_capacity(rich.text.len() * 2);
    write(&mut out, &rich.text, 0..rich.text.len(), &mut rich.spans.iter().peekable());
    out
}

/// Writes a part of the text, with the spans that are left and begin in it.
fn write(out: &mut String, text: &str, part: Range<usize>, spans: &mut Peekable<Iter<'_, StyledSpan>>) {
    let mut at = part.start;
    while let Some(span) = spans.next_if(|span| span.start < part.end) {
        escape(out, &text[at..span.start]);
        tag(out, &span.style);
        write(out, text, span.start..span.end, spans);
        out.push_str(end_tag(&span.style));
        at = span.end;
    }
    escape(out, &text[at..part.end]);
}

fn tag(out: &mut String, style: &Style) {
    match style {
        Style::Bold => out.push_str("<b>"),
        Style::Italic => out.push_str("<i>"),
        Style::Strike => out.push_str("<s>"),
        Style::Code => out.push_str("<code>"),
        Style::Quote => out.push_str("<blockquote>"),
        Style::Pre { language: None } => out.push_str("<pre>"),
        Style::Pre { language: Some(language) } => {
            out.push_str("<pre><code class=\"language-");
            escape(out, language);
            out.push_str("\">");
        }
        Style::Link { url } => {
            out.push_str("<a href=\"");
            escape(out, url);
            out.push_str("\">");
        }
    }
}

fn end_tag(style: &Style) -> &'static str {
    match style {
        Style::Bold => "</b>",
        Style::Italic => "</i>",
        Style::Strike => "</s>",
        Style::Code => "</code>",
        Style::Quote => "</blockquote>",
        Style::Pre { language: None } => "</pre>",
        Style::Pre { language: Some(_) } => "</code></pre>",
        Style::Link { .. } => "</a>",
    }
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_chat::outbound::markdown;
    use proptest::prelude::*;

    #[test]
    fn styles_become_tags_and_everything_else_is_escaped() {
        let check = |source: &str, expected: &str| assert_eq!(html(&markdown(source)), expected, "{source}");
        check("a **b *c*** `d<e>` ~~f~~", "a <b>b <i>c</i></b> <code>d&lt;e&gt;</code> <s>f</s>");
        check("```rust\na && b\n```", "<pre><code class=\"language-rust\">a &amp;&amp; b</code></pre>");
        check("    x", "<pre>x</pre>");
        check("> q", "<blockquote>q</blockquote>");
        check("[x](https://e.org/?a=\"&b)", "<a href=\"https://e.org/?a=%22&amp;b\">x</a>");
        check("<b>&amp; \"", "&lt;b&gt;&amp; &quot;");
    }

    /// What is left without tags and references, if each tag is closed where it may be.
    fn stripped(html: &str) -> Option<String> {
        let (mut text, mut open, mut rest) = (String::new(), Vec::new(), html);
        while let Some((before, after)) = rest.split_once('<') {
            let (tag, after) = after.split_once('>')?;
            text.push_str(before);
            match tag.strip_prefix('/') {
                Some(name) if open.pop()? == name => {}
                Some(_) => return None,
                None => open.push(tag.split(' ').next()?),
            }
            rest = after;
        }
        text.push_str(rest);
        let plain =
            text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        open.is_empty().then_some(plain)
    }

    proptest! {
        #[test]
        fn every_part_is_whole_html_of_its_text(source in "([a<>&\"*_`~|#\n -]|\\[x\\]\\(https://e/\\)|```rust\n){0,60}", cut in 0.0_f64..1.0) {
            let rich = markdown(&source);
            let middle = rich.text.floor_char_boundary((rich.text.len() as f64 * cut) as usize);
            for part in [rich.slice(0..middle), rich.slice(middle..rich.text.len())] {
                let written = html(&part);
                prop_assert_eq!(stripped(&written), Some(part.text), "{}", written);
            }
        }
    }
}

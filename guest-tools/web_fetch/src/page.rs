//! A page as Markdown or text: what a reader does not see is dropped first, because nobody but a
//! model would read it.

use htmd::HtmlToMarkdown;
use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{LinkStyle, Options};
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Node, NodeData, RcDom};
use std::rc::Rc;

/// What a page says.
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
}

/// Elements that are nested deeper are dropped: no page that somebody reads has them.
const DEPTH_MAX: usize = 200;
/// Bytes of a page that are parsed before it is asked whether its text is long enough.
const PIECE_BYTES: usize = 64 << 10;
/// Elements that say nothing to a reader.
const UNSEEN: &[&str] = &[
    "script", "style", "noscript", "noembed", "noframes", "template", "head", "title", "iframe", "object",
    "embed", "svg", "canvas", "math", "audio", "video", "dialog", "datalist", "input", "select", "textarea",
    "button", "progress", "meter", "rp",
];

/// Whether a text without a type begins as pages do.
pub(crate) fn looks_like_one(text: &str) -> bool {
    let begin: String = text.trim_start().chars().take(15).collect();
    let begin = begin.to_ascii_lowercase();
    begin.starts_with("<!doctype html") || begin.starts_with("<html")
}

/// Reads a page: its whole text, or more than `most` bytes of it.
pub(crate) fn read(html: &str, with_links: bool, most: usize) -> Page {
    let options = Options { link_style: LinkStyle::Inlined, ..Options::default() };
    let converter = HtmlToMarkdown::builder().options(options);
    let converter = match with_links {
        true => converter.build(),
        false => converter.add_handler(vec!["a"], inner).add_handler(vec!["img"], nothing).build(),
    };
    let tree = parse(html, most);
    let title = title(&tree, 0);
    prune(&tree, 0);
    let text = plain(&converter.tree_to_markdown(&tree));
    // All memory ends with the call: to free a tree node by node would take time for nothing.
    std::mem::forget(tree);
    Page { title, text }
}

/// Parses a page until more than `most` bytes of its text are there.
fn parse(html: &str, most: usize) -> Rc<Node> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let mut parser = parse_document(RcDom::default(), options);
    let mut parsed = 0;
    while parsed < html.len() && seen_bytes(&parser.tokenizer.sink.sink.document, 0) <= most {
        // Longer with each, so that all the counting takes no more than parsing does.
        let end = html.floor_char_boundary(parsed + PIECE_BYTES.max(parsed / 2));
        parser.process(html[parsed..end].into());
        parsed = end;
    }
    parser.finish().document
}

/// How many letters and digits a reader sees: those that every form of the text has.
fn seen_bytes(node: &Node, depth: usize) -> usize {
    if let NodeData::Text { contents } = &node.data {
        return contents.borrow().bytes().filter(u8::is_ascii_alphanumeric).count();
    }
    if depth == DEPTH_MAX {
        return 0;
    }
    let children = node.children.borrow();
    children.iter().filter(|child| is_seen(child)).map(|child| seen_bytes(child, depth + 1)).sum()
}

/// The words of a link without its address.
fn inner(handlers: &dyn Handlers, element: htmd::Element<'_>) -> Option<HandlerResult> {
    Some(handlers.walk_children(element.node))
}

fn nothing(_: &dyn Handlers, _: htmd::Element<'_>) -> Option<HandlerResult> {
    None
}

/// Without characters that are shown as nothing: a text in them is hidden as well.
pub(crate) fn visible(text: &str) -> String {
    let seen =
        |c: &char| matches!(c, ' '..='~' | '\r' | '\n' | '\t') || !cofferdam_sdk::text::is_deceptive(*c);
    text.chars().filter(seen).collect()
}

/// What is visible, with no more than one empty line between two others.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut ends = 0;
    for c in visible(text).chars() {
        ends = if c == '\n' { ends + 1 } else { 0 };
        if ends <= 2 {
            plain.push(c);
        }
    }
    plain.trim().to_owned()
}

fn title(node: &Rc<Node>, depth: usize) -> Option<String> {
    let is_title = matches!(&node.data, NodeData::Element { name, .. } if &*name.local == "title");
    if is_title {
        let mut text = String::new();
        for child in node.children.borrow().iter() {
            if let NodeData::Text { contents } = &child.data {
                text.push_str(&contents.borrow());
            }
        }
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        return Some(plain(&line).chars().take(300).collect());
    }
    let children = node.children.borrow();
    if depth > 4 { None } else { children.iter().find_map(|child| title(child, depth + 1)) }
}

/// Drops what a reader does not see, among it what a link or an image says to a pointer above it.
fn prune(node: &Rc<Node>, depth: usize) {
    if let NodeData::Element { attrs, .. } = &node.data {
        attrs.borrow_mut().retain(|attribute| &*attribute.name.local != "title");
    }
    node.children.borrow_mut().retain(|child| depth < DEPTH_MAX && is_seen(child));
    for child in node.children.borrow().iter() {
        prune(child, depth + 1);
    }
}

fn is_seen(node: &Node) -> bool {
    let NodeData::Element { name, attrs, .. } = &node.data else {
        return !matches!(node.data, NodeData::Comment { .. } | NodeData::ProcessingInstruction { .. });
    };
    if UNSEEN.contains(&&*name.local) {
        return false;
    }
    let hides = |name: &str, value: &str| match name {
        "hidden" | "popover" => true,
        "aria-hidden" => value.trim().eq_ignore_ascii_case("true"),
        "style" => is_hiding(value),
        _ => false,
    };
    !attrs.borrow().iter().any(|attribute| hides(&attribute.name.local, &attribute.value))
}

/// Whether a style makes its element unseen, in the ways that need no layout to tell. One with
/// escapes, which could spell any of them, is taken for one that does.
fn is_hiding(style: &str) -> bool {
    let style = without_comments(&style.to_ascii_lowercase());
    style.contains('\\')
        || style.split(';').any(|declaration| {
            let Some((name, value)) = declaration.split_once(':') else { return false };
            // What follows is `important`, with or without a space.
            let value = value.split('!').next().unwrap_or_default().trim();
            match name.trim() {
                "display" => value == "none",
                "visibility" => value == "hidden" || value == "collapse",
                "content-visibility" => value == "hidden",
                "opacity" | "font-size" => is_nothing(value),
                "font" => {
                    // The size is before the height of a line, and before the names.
                    let before = value.split(['/', '"', '\'']).next().unwrap_or_default();
                    before.split_whitespace().any(is_nothing)
                }
                "filter" | "-webkit-filter" => {
                    let mut all = value.split("opacity(").skip(1);
                    all.any(|rest| is_nothing(rest.split(')').next().unwrap_or_default()))
                }
                "color" => is_transparent(value),
                _ => false,
            }
        })
}

/// Whether a number, of any unit, is 0 to the eye.
fn is_nothing(value: &str) -> bool {
    let value = value.trim();
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').trim();
    let whole = if value.ends_with('%') { 100.0 } else { 1.0 };
    digits.parse::<f64>().is_ok_and(|number| number / whole < 0.01)
}

/// Whether nothing is seen of a color.
fn is_transparent(color: &str) -> bool {
    if let Some(digits) = color.strip_prefix('#') {
        return match digits.len() {
            4 => digits.ends_with('0'),
            8 => ["00", "01", "02"].iter().any(|alpha| digits.ends_with(alpha)),
            _ => false,
        };
    }
    let Some((_, parts)) = color.split_once('(') else { return color == "transparent" };
    let parts = parts.trim_end_matches(')');
    let alpha = match parts.rsplit_once('/') {
        Some((_, alpha)) => Some(alpha),
        None => parts.split(',').nth(3),
    };
    alpha.is_some_and(|alpha| alpha.trim() == "none" || is_nothing(alpha))
}

/// A style without its comments, which separate nothing.
fn without_comments(style: &str) -> String {
    let mut parts = style.split("/*");
    let first = parts.next().unwrap_or_default();
    let after = parts.map(|part| part.split_once("*/").map_or("", |(_, rest)| rest));
    std::iter::once(first).chain(after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(html: &str) -> String {
        read(html, true, 100_000).text
    }

    #[test]
    fn a_page_becomes_markdown_with_its_links() {
        let page = read(
            "<!doctype html><html><head><title> A \n page </title></head><body><h1>Head</h1>\
             <p>One <a href=\"https://a.example/x\">link</a> and <b>more</b>.</p><ul><li>x</li><li>y</li></ul></body></html>",
            true,
            100_000,
        );
        assert_eq!(page.title.as_deref(), Some("A page"));
        assert!(
            page.text.starts_with("# Head\n\nOne [link](https://a.example/x) and **more**."),
            "{}",
            page.text
        );
        assert!(page.text.contains('x') && page.text.contains('y'), "{}", page.text);
        let text =
            read("<p>One <a href=\"https://a.example/x\">link</a><img src=x alt=pic></p>", false, 100_000)
                .text;
        assert_eq!(text, "One link");
    }

    #[test]
    fn what_a_reader_does_not_see_is_dropped() {
        for hidden in [
            "<script>EVIL</script>",
            "<style>EVIL</style>",
            "<noscript>EVIL</noscript>",
            "<template>EVIL</template>",
            "<!-- EVIL -->",
            "<p hidden>EVIL</p>",
            "<p aria-hidden=\"true\">EVIL</p>",
            "<p style=\"display:none\">EVIL</p>",
            "<p style=\"color: red; DISPLAY : None !important\">EVIL</p>",
            "<div style=\"visibility:hidden\"><p>EVIL</p></div>",
            "<span style=\"font-size:0px\">EVIL</span>",
            "<span style=\"opacity: 0\">EVIL</span>",
            "<span style=\"color:transparent\">EVIL</span>",
            "<svg><text>EVIL</text></svg>",
            "<iframe srcdoc=\"EVIL\">EVIL</iframe>",
            "<input value=EVIL><textarea>EVIL</textarea>",
            "<noembed>EVIL</noembed>",
            "<noframes>EVIL</noframes>",
            "<title>EVIL</title>",
            "<progress>EVIL</progress>",
            "<meter>EVIL</meter>",
            "<ruby>x<rp>EVIL</rp></ruby>",
            "<p style=\"display: none ! important\">EVIL</p>",
            "<p style=\"display:none/**/\">EVIL</p>",
            "<p style=\"/* a:b; */dis/*;*/play:none\">EVIL</p>",
            "<p style=\"content-visibility:hidden\">EVIL</p>",
            "<div popover><p>EVIL</p></div>",
            "<p popover=manual>EVIL</p>",
            "<p style=\"color:#0000\">EVIL</p>",
            "<p style=\"color: #FF00aa00 !important\">EVIL</p>",
            "<p style=\"color:rgba(0, 0, 0, 0)\">EVIL</p>",
            "<p style=\"color:rgb(1 2 3 / 0%)\">EVIL</p>",
            "<p style=\"color:rgb(1 2 3/none)\">EVIL</p>",
            "<p style=\"color:hsla(120,100%,50%,0.0)\">EVIL</p>",
            "<p style=\"color:TRANSPARENT\">EVIL</p>",
            "<p style=\"font:0/0 a\">EVIL</p>",
            "<p style=\"font: italic 0px / 1 serif\">EVIL</p>",
            "<p style=\"font:0 'a b'\">EVIL</p>",
            "<p style=\"d\\69splay:none\">EVIL</p>",
            "<p style=\"filter:opacity(0)\">EVIL</p>",
            "<p style=\"filter: blur(1px) opacity(0%)\">EVIL</p>",
            "<p style=\"opacity:-1\">EVIL</p>",
            "<a href=\"/x\" title=\"EVIL\">x</a>",
            "<img src=\"/x\" alt=pic title=\"EVIL\">",
        ] {
            let text = markdown(&format!("<body><p>before</p>{hidden}<p>after</p></body>"));
            assert!(!text.contains("EVIL"), "{hidden}: {text}");
            assert!(text.contains("before") && text.contains("after"), "{hidden}: {text}");
        }
        assert_eq!(markdown("<p>a\u{200b}b\u{e0041}c\u{202e}</p>"), "abc");
        assert_eq!(markdown("<p style=\"/* display:none */color:red\">seen</p>"), "seen");
    }

    #[test]
    fn what_a_reader_sees_is_kept_in_any_style() {
        for style in [
            "opacity: 0.5",
            "font: 12px a",
            "font: 700 .9rem/0 a, b",
            "font: 12px 'x 0 y'",
            "font-size: 50%",
            "color: rgba(0,0,0,.8)",
            "color: rgb(0, 0, 0)",
            "color: rgb(0 0 0 / 50%)",
            "color: hsl(0 0% 0%)",
            "color: #000",
            "color: #f000f0",
            "color: #0008",
            "color: #00000080",
            "filter: opacity(50%) grayscale(0)",
            "background: transparent",
        ] {
            let text = markdown(&format!("<p style=\"{style}\">seen</p>"));
            assert_eq!(text, "seen", "{style}");
        }
        assert_eq!(markdown("<a href=\"/x\" title=t>seen</a>"), "[seen](/x)");
        assert_eq!(markdown("<img src=\"/x\" alt=pic title=t>"), "![pic](/x)");
    }

    #[test]
    fn nesting_without_end_ends() {
        let deep = format!("{}x{}", "<div>".repeat(20_000), "</div>".repeat(20_000));
        let text = markdown(&format!("<p>seen</p>{deep}"));
        assert_eq!(text, "seen");
    }

    #[test]
    fn no_more_of_a_page_is_parsed_than_is_wanted() {
        let hidden = format!("<p hidden>{}</p>", "EVIL ".repeat(PIECE_BYTES));
        let html = format!("{hidden}{}", "<p>some wörds</p>\n".repeat(100_000));
        let (whole, part) = (read(&html, true, html.len()), read(&html, true, 1000));
        assert_eq!(whole.text.len(), 100_000 * "some wörds\n\n".len() - 2);
        assert!(part.text.len() > 1000 && part.text.len() < whole.text.len() / 2, "{}", part.text.len());
        assert!(whole.text.starts_with(&part.text[..1000]));
    }
}

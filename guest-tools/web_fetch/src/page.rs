//! A page as Markdown or text: what a reader does not see is dropped first, because nobody but a
//! model would read it.

use htmd::HtmlToMarkdown;
use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{LinkStyle, Options};
use markup5ever_rcdom::{Node, NodeData};
use std::rc::Rc;

/// What a page says.
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
}

/// Elements that are nested deeper are dropped: no page that somebody reads has them.
const DEPTH_MAX: usize = 200;
/// Elements that say nothing to a reader.
const UNSEEN: &[&str] = &[
    "script", "style", "noscript", "template", "head", "iframe", "object", "embed", "svg", "canvas", "math",
    "audio", "video", "dialog", "datalist", "input", "select", "textarea", "button",
];

/// Whether a text without a type begins as pages do.
pub(crate) fn looks_like_one(text: &str) -> bool {
    let begin: String = text.trim_start().chars().take(15).collect();
    let begin = begin.to_ascii_lowercase();
    begin.starts_with("<!doctype html") || begin.starts_with("<html")
}

/// Reads a page.
pub(crate) fn read(html: &str, with_links: bool) -> Page {
    let options = Options { link_style: LinkStyle::Inlined, ..Options::default() };
    let converter = HtmlToMarkdown::builder().options(options).scripting_enabled(false);
    let converter = match with_links {
        true => converter.build(),
        false => converter.add_handler(vec!["a"], inner).add_handler(vec!["img"], nothing).build(),
    };
    let Ok(tree) = converter.html_to_tree(html) else {
        return Page { title: None, text: String::new() };
    };
    let title = title(&tree, 0);
    prune(&tree, 0);
    let text = converter.tree_to_markdown(&tree);
    Page { title, text: plain(&text) }
}

/// The words of a link without its address.
fn inner(handlers: &dyn Handlers, element: htmd::Element<'_>) -> Option<HandlerResult> {
    Some(handlers.walk_children(element.node))
}

fn nothing(_: &dyn Handlers, _: htmd::Element<'_>) -> Option<HandlerResult> {
    None
}

/// Without characters that are shown as nothing: a text in them is hidden as well.
fn plain(text: &str) -> String {
    let seen = |c: &char| *c == '\n' || *c == '\t' || !cofferdam_sdk::text::is_deceptive(*c);
    let mut plain = String::with_capacity(text.len());
    let mut ends = 0;
    for c in text.chars().filter(seen) {
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

/// Drops what a reader does not see.
fn prune(node: &Rc<Node>, depth: usize) {
    node.children.borrow_mut().retain(|child| depth < DEPTH_MAX && is_seen(child));
    for child in node.children.borrow().iter() {
        prune(child, depth + 1);
    }
}

fn is_seen(node: &Rc<Node>) -> bool {
    let NodeData::Element { name, attrs, .. } = &node.data else {
        return !matches!(node.data, NodeData::Comment { .. } | NodeData::ProcessingInstruction { .. });
    };
    if UNSEEN.contains(&&*name.local) {
        return false;
    }
    let hides = |name: &str, value: &str| match name {
        "hidden" => true,
        "aria-hidden" => value.trim().eq_ignore_ascii_case("true"),
        "style" => is_hiding(value),
        _ => false,
    };
    !attrs.borrow().iter().any(|attribute| hides(&attribute.name.local, &attribute.value))
}

/// Whether a style makes its element unseen, in the ways that need no layout to tell.
fn is_hiding(style: &str) -> bool {
    style.to_ascii_lowercase().split(';').any(|declaration| {
        let Some((name, value)) = declaration.split_once(':') else { return false };
        let value = value.replace("!important", "");
        let value = value.trim();
        let is_nothing = || {
            let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
            digits.trim().parse::<f64>().is_ok_and(|number| number.abs() < 0.01)
        };
        match name.trim() {
            "display" => value == "none",
            "visibility" => value == "hidden" || value == "collapse",
            "opacity" | "font-size" => is_nothing(),
            "color" => value == "transparent",
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(html: &str) -> String {
        read(html, true).text
    }

    #[test]
    fn a_page_becomes_markdown_with_its_links() {
        let page = read(
            "<!doctype html><html><head><title> A \n page </title></head><body><h1>Head</h1>\
             <p>One <a href=\"https://a.example/x\">link</a> and <b>more</b>.</p><ul><li>x</li><li>y</li></ul></body></html>",
            true,
        );
        assert_eq!(page.title.as_deref(), Some("A page"));
        assert!(
            page.text.starts_with("# Head\n\nOne [link](https://a.example/x) and **more**."),
            "{}",
            page.text
        );
        assert!(page.text.contains('x') && page.text.contains('y'), "{}", page.text);
        let text = read("<p>One <a href=\"https://a.example/x\">link</a><img src=x alt=pic></p>", false).text;
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
        ] {
            let text = markdown(&format!("<body><p>before</p>{hidden}<p>after</p></body>"));
            assert!(!text.contains("EVIL"), "{hidden}: {text}");
            assert!(text.contains("before") && text.contains("after"), "{hidden}: {text}");
        }
        assert_eq!(markdown("<p>a\u{200b}b\u{e0041}c\u{202e}</p>"), "abc");
    }

    #[test]
    fn nesting_without_end_ends() {
        let deep = format!("{}x{}", "<div>".repeat(20_000), "</div>".repeat(20_000));
        let text = markdown(&format!("<p>seen</p>{deep}"));
        assert_eq!(text, "seen");
    }
}

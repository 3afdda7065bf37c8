//! `parse_mode`: HTML becomes text and entities, with the real server's refusals; the Markdown
//! modes are accepted and left as they are.

use serde_json::{Value, json};

use super::error::ApiError;

/// A text as the user sees it, and its entities.
#[derive(Debug, Default)]
pub(super) struct Formatted {
    pub(super) text: String,
    pub(super) entities: Vec<Value>,
}

/// Applies a parse mode.
pub(super) fn format(text: &str, mode: Option<&str>) -> Result<Formatted, ApiError> {
    match mode.map(str::to_ascii_lowercase).as_deref() {
        None | Some("" | "markdown" | "markdownv2") => {
            Ok(Formatted { text: text.to_owned(), entities: Vec::new() })
        }
        Some("html") => {
            parse(text).map_err(|why| ApiError::bad_request(format!("can't parse entities: {why}")))
        }
        Some(_) => Err(ApiError::bad_request("unsupported parse_mode")),
    }
}

/// The entity of a tag; `None` for a tag that Telegram does not support.
fn entity_of(tag: &str) -> Option<&'static str> {
    Some(match tag {
        "b" | "strong" => "bold",
        "i" | "em" => "italic",
        "u" | "ins" => "underline",
        "s" | "strike" | "del" => "strikethrough",
        "span" | "tg-spoiler" => "spoiler",
        "a" => "text_link",
        "code" => "code",
        "pre" => "pre",
        "blockquote" => "blockquote",
        "tg-emoji" => "custom_emoji",
        _ => return None,
    })
}

struct Open {
    tag: String,
    attributes: String,
    /// Where it starts in the output, in UTF-16 units.
    offset: usize,
    /// Of a block of code.
    language: Option<String>,
}

/// Parses; the error is what follows `can't parse entities: `.
fn parse(source: &str) -> Result<Formatted, String> {
    let mut out = Formatted::default();
    let mut units = 0;
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(next) = source[at..].chars().next() {
        if next != '<' {
            let (decoded, length) = decode_reference(&source[at..]).unwrap_or((next, next.len_utf8()));
            out.text.push(decoded);
            units += decoded.len_utf16();
            at += length;
            continue;
        }
        let start = at;
        let is_end = source[at..].starts_with("</");
        let body_start = at + if is_end { 2 } else { 1 };
        let Some(length) = tag_length(&source[body_start..]) else {
            let which = if is_end { "end" } else { "start" };
            return Err(format!("Unclosed {which} tag at byte offset {start}"));
        };
        let body = &source[body_start..body_start + length];
        at = body_start + length + 1;
        if is_end {
            let opened = open.pop();
            let Some(opened) = opened else {
                return Err(format!("Unexpected end tag at byte offset {start}"));
            };
            let found = body.trim().to_ascii_lowercase();
            if !found.is_empty() && found != opened.tag {
                return Err(format!(
                    "Unmatched end tag at byte offset {start}, expected \"</{}>\", found \"</{found}>\"",
                    opened.tag
                ));
            }
            match open.last_mut() {
                // `<pre><code class="language-x">` is one block in a language.
                Some(block)
                    if block.tag == "pre" && block.offset == opened.offset && is_language(&opened) =>
                {
                    block.language = language(&opened);
                }
                _ => out.entities.extend(entity(&opened, units)),
            }
            continue;
        }
        let name_length = body.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(body.len());
        let (name, attributes) = body.split_at(name_length);
        let tag = name.to_ascii_lowercase();
        if entity_of(&tag).is_none() {
            return Err(format!("Unsupported start tag \"{tag}\" at byte offset {start}"));
        }
        if tag == "span" && attribute(attributes, "class") != Some("tg-spoiler") {
            return Err(format!("Tag \"span\" must have class \"tg-spoiler\" at byte offset {start}"));
        }
        open.push(Open { tag, attributes: attributes.to_owned(), offset: units, language: None });
    }
    match open.pop() {
        Some(Open { tag, .. }) => Err(format!("Can't find end tag corresponding to start tag \"{tag}\"")),
        None => Ok(out),
    }
}

/// Bytes up to the closing `>`, which quotes may hide.
fn tag_length(rest: &str) -> Option<usize> {
    let mut quote = None;
    rest.char_indices().find_map(|(index, c)| {
        match (c, quote) {
            ('>', None) => return Some(index),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            _ => {}
        }
        None
    })
}

/// A character reference at the start of `rest` and its length in bytes.
fn decode_reference(rest: &str) -> Option<(char, usize)> {
    let name = rest.strip_prefix('&')?;
    let name = &name[..name.find(';').filter(|end| *end <= 8)?];
    let decoded = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code).filter(|c| *c != '\0')?
        }
    };
    Some((decoded, name.len() + 2))
}

fn entity(open: &Open, end: usize) -> Option<Value> {
    let kind = entity_of(&open.tag).filter(|_| end > open.offset)?;
    let mut entity = json!({ "type": kind, "offset": open.offset, "length": end - open.offset });
    if kind == "text_link" {
        let url = attribute(&open.attributes, "href").unwrap_or_default();
        entity["url"] = decoded(url).into();
    }
    if let Some(language) = &open.language {
        entity["language"] = language.clone().into();
    }
    Some(entity)
}

/// The value of an attribute, in quotes or not, with its character references.
fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = attributes.split_once(&format!("{name}="))?;
    match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].split(quote).next(),
        _ => rest.split_whitespace().next(),
    }
}

fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(next) = rest.chars().next() {
        let (decoded, length) = decode_reference(rest).unwrap_or((next, next.len_utf8()));
        out.push(decoded);
        rest = &rest[length..];
    }
    out
}

fn language(code: &Open) -> Option<String> {
    attribute(&code.attributes, "class")?.strip_prefix("language-").map(str::to_owned)
}

fn is_language(code: &Open) -> bool {
    code.tag == "code" && language(code).is_some()
}

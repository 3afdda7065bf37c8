//! Bodies of `multipart/form-data` (RFC 7578), as clients send files: fields of text, and files
//! with their names.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value};

/// A file that came with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upload {
    pub(crate) filename: String,
    pub(crate) content_type: Option<String>,
    pub(crate) bytes: Bytes,
}

/// The files of a request by their field.
pub(crate) type Uploads = BTreeMap<String, Upload>;

/// The boundary that a content type names.
pub(crate) fn boundary(content_type: &str) -> Option<&str> {
    let (_, rest) = content_type.split_once("boundary=")?;
    let boundary = rest.split(';').next()?.trim().trim_matches('"');
    (!boundary.is_empty()).then_some(boundary)
}

/// Text fields go into `params`, the rest comes back; `None` for a body that is not what it says it
/// is.
pub(crate) fn decode(body: &Bytes, boundary: &str, params: &mut Map<String, Value>) -> Option<Uploads> {
    let (opening, delimiter) = (format!("--{boundary}"), format!("\r\n--{boundary}"));
    let mut uploads = Uploads::new();
    let mut at = body.strip_prefix(opening.as_bytes()).map(|_| opening.len())?;
    loop {
        if body[at..].starts_with(b"--") {
            return Some(uploads);
        }
        at += body[at..].starts_with(b"\r\n").then_some(2)?;
        let head_end = at + find(&body[at..], b"\r\n\r\n")?;
        let head = std::str::from_utf8(&body[at..head_end]).ok()?;
        let content = head_end + 4;
        let end = content + find(&body[content..], delimiter.as_bytes())?;
        let bytes = body.slice(content..end);
        let disposition = header(head, "content-disposition")?;
        let name = parameter(disposition, "name")?;
        match parameter(disposition, "filename") {
            Some(filename) => {
                let content_type = header(head, "content-type").map(str::to_owned);
                uploads.insert(name, Upload { filename, content_type, bytes });
            }
            None => {
                params.insert(name, Value::String(String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        at = end + delimiter.len();
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    // Files may be large: only where the first byte fits is the rest compared.
    let mut from = 0;
    loop {
        let next = from + bytes[from..].iter().position(|byte| *byte == wanted[0])?;
        if bytes[next..].starts_with(wanted) {
            return Some(next);
        }
        from = next + 1;
    }
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// A quoted parameter, its escapes undone.
fn parameter(header: &str, name: &str) -> Option<String> {
    let rest = header.split("; ").find_map(|part| part.strip_prefix(&format!("{name}=\"")))?;
    let mut value = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => return Some(value),
            '\\' => value.push(chars.next()?),
            other => value.push(other),
        }
    }
}

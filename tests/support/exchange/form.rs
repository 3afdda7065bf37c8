//! Forms of HTML, as they stand in queries and bodies.

use serde_json::{Map, Value};

/// Puts the pairs of a query or a form into `params`, as text.
pub(crate) fn decode(form: &str, params: &mut Map<String, Value>) {
    for pair in form.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let plain = |text: &str| percent_decode(&text.replace('+', " "));
        params.insert(plain(name), Value::String(plain(value)));
    }
}

/// Decodes `%XX`; what is not a valid escape stays as it is.
pub(crate) fn percent_decode(text: &str) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escape = tail.get(..2).filter(|_| first == b'%');
        let byte = escape.and_then(|digits| hex::decode(digits).ok()).map(|bytes| bytes[0]);
        decoded.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

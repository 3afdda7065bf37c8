//! Which headers are said and which are heard: what is between gateway and server is nobody else's.

use cofferdam_core::secret::{Blanker, Secret};
use cofferdam_core::text::one_line;
use cofferdam_core::web::{
    FailureKind, GATEWAY_HEADERS, HEADER_BYTES_MAX, HEADERS_MAX, Headers, HttpFailure,
};
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue,
};
use serde_bytes::ByteBuf;
use std::collections::{BTreeMap, BTreeSet};

/// What of an answer concerns the gateway alone.
const NOT_HEARD: &[&str] = &[
    "connection",
    "content-encoding",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "set-cookie",
    "set-cookie2",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What asks for a part of a body; the last is an old name that servers still know.
const PARTS: &[&str] = &["if-range", "range", "request-range"];

/// A header's name as programs behind some servers have it: in a variable, as of CGI, `x_key`,
/// `x.key` and `x-key` are one.
fn fold_signs(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

/// The headers of a request, with the secrets among them.
pub(super) struct RequestHeaders {
    map: HeaderMap,
    secrets: Vec<Secret>,
}

impl RequestHeaders {
    /// What the guest says, without what it may not, and the secrets that the profile names.
    ///
    /// # Errors
    /// Too much of it, what is no header, and a secret that is missing: nothing is sent then.
    pub(super) fn new(
        said: &Headers,
        with_secrets: &BTreeMap<String, String>,
        secrets: &BTreeMap<String, Result<Secret, String>>,
    ) -> Result<Self, HttpFailure> {
        let denied = |said: String| HttpFailure::new(FailureKind::Denied, said);
        let bytes: usize = said.iter().map(|(name, value)| name.len() + value.len()).sum();
        if said.len() > HEADERS_MAX || bytes > HEADER_BYTES_MAX {
            return Err(denied(format!(
                "the request has more than {HEADERS_MAX} headers, or more than {HEADER_BYTES_MAX} bytes of them"
            )));
        }
        let mut map = HeaderMap::new();
        let sent_instead: BTreeSet<String> = with_secrets.keys().map(|name| fold_signs(name)).collect();
        for (name, value) in said {
            let lower = name.to_ascii_lowercase();
            let folded = fold_signs(&lower);
            // Of a body in parts, each may have half of a secret, in which nobody finds it.
            if !with_secrets.is_empty() && PARTS.contains(&folded.as_str()) {
                continue;
            }
            if GATEWAY_HEADERS.contains(&folded.as_str()) || sent_instead.contains(&folded) {
                continue;
            }
            let (Ok(name), Ok(value)) = (lower.parse::<HeaderName>(), HeaderValue::from_bytes(value)) else {
                return Err(denied(format!("the request has a malformed header {:?}", one_line(&lower, 80))));
            };
            map.append(name, value);
        }
        let mut sent = Vec::new();
        for (header, name) in with_secrets {
            let secret = match secrets.get(name) {
                Some(known) => known.as_ref().map_err(String::clone),
                None => Err(format!("name it in the configuration: [secrets.{name}] file = \"…\"")),
            };
            let secret = secret.map_err(|mend| {
                denied(format!(
                    "the secret {name} of the header {header} is missing, so nothing was sent; {mend}"
                ))
            })?;
            let value = HeaderValue::from_str(secret.reveal()).ok().zip(header.parse::<HeaderName>().ok());
            let Some((mut value, header)) = value else {
                return Err(denied(format!(
                    "the secret {name} cannot stand in a header, so nothing was sent"
                )));
            };
            value.set_sensitive(true);
            map.insert(header, value);
            sent.push(secret.clone());
        }
        map.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        Ok(Self { map, secrets: sent })
    }

    /// What takes its secrets out of all that comes back.
    pub(super) fn blanker(&self) -> Blanker {
        Blanker::new(&self.secrets)
    }

    pub(super) fn map(&self) -> HeaderMap {
        self.map.clone()
    }

    /// What a guest says to one host to be let in is not for another.
    pub(super) fn strip_credentials(&mut self) {
        self.map.remove(AUTHORIZATION);
    }

    /// Says nothing of a body any more.
    pub(super) fn strip_body_headers(&mut self) {
        self.map.remove(CONTENT_TYPE);
    }
}

/// The headers of an answer as a guest may see them.
///
/// # Errors
/// More than anybody needs.
pub(super) fn answer_headers(map: &HeaderMap, blanker: &Blanker) -> Result<Headers, HttpFailure> {
    let is_packed = map.contains_key(CONTENT_ENCODING);
    let heard = map
        .iter()
        .filter(|(name, _)| !(NOT_HEARD.contains(&name.as_str()) || is_packed && *name == CONTENT_LENGTH))
        .filter(|(name, _)| !blanker.is_in(name.as_str().as_bytes()));
    let blanked = |value: &HeaderValue| ByteBuf::from(blanker.redact_all(value.as_bytes()));
    let headers: Headers = heard.map(|(name, value)| (name.to_string(), blanked(value))).collect();
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > HEADER_BYTES_MAX {
        let said = format!("the server's headers have more than {HEADER_BYTES_MAX} bytes");
        return Err(HttpFailure::new(FailureKind::TooLarge, said));
    }
    Ok(headers)
}

/// Whether the body of an answer is packed, by gzip.
///
/// # Errors
/// A packing that is not taken off: its bytes could not be counted, nor a secret in them be found.
pub(super) fn is_gzip(map: &HeaderMap, shown: &str) -> Result<bool, HttpFailure> {
    let mut said = map.get_all(CONTENT_ENCODING).iter();
    let first = said.next().map(HeaderValue::as_bytes);
    match (first.map(<[u8]>::to_ascii_lowercase).as_deref(), said.next()) {
        (None | Some(b"" | b"identity"), None) => Ok(false),
        (Some(b"gzip" | b"x-gzip"), None) => Ok(true),
        (other, _) => {
            // Not in the server's words: a secret may be in them.
            let known = ["br", "compress", "deflate", "zstd"]
                .into_iter()
                .find(|known| other == Some(known.as_bytes()));
            let packing = known.unwrap_or("something else");
            let said =
                format!("{shown} is packed as {packing}, though gzip was asked for; it is not unpacked");
            Err(HttpFailure::new(FailureKind::Packed, said))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_a_secret_nothing_is_asked_for_in_parts() {
        let said: Headers = ["Range", "IF-RANGE", "request-range", "accept"]
            .map(|name| (name.to_owned(), ByteBuf::from("bytes=0-9")))
            .into();
        let names = |headers: RequestHeaders| {
            let mut names: Vec<String> = headers.map().keys().map(ToString::to_string).collect();
            names.sort();
            names
        };
        let none = RequestHeaders::new(&said, &BTreeMap::new(), &BTreeMap::new()).expect("sound");
        assert_eq!(names(none), ["accept", "accept-encoding", "if-range", "range", "request-range"]);
        let with = BTreeMap::from([("x-key".to_owned(), "KEY".to_owned())]);
        let secrets = BTreeMap::from([("KEY".to_owned(), Ok(Secret::new("tOk-en-12")))]);
        let some = RequestHeaders::new(&said, &with, &secrets).expect("sound");
        assert_eq!(names(some), ["accept", "accept-encoding", "x-key"]);
    }

    /// Where the worker did not keep the guest from saying it.
    #[test]
    fn no_header_that_stands_for_another_method_is_sent() {
        let said: Headers = [
            "X-HTTP-Method",
            "x-http-method-override",
            "X-Method-Override",
            "X-Method",
            "X_HTTP_Method_Override",
            "x-http_method",
            "X.Method!Override",
            "Content_Length",
        ]
        .map(|name| (name.to_owned(), ByteBuf::from("DELETE")))
        .into();
        let headers = RequestHeaders::new(&said, &BTreeMap::new(), &BTreeMap::new()).expect("sound").map();
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept-encoding", "x-method"]);
    }

    #[test]
    fn no_header_that_a_server_may_take_for_the_secret_is_sent_beside_it() {
        let said: Headers = ["X-Key", "x_key", "X~key", "x-kEy_id", "request_range"]
            .map(|name| (name.to_owned(), ByteBuf::from("mine")))
            .into();
        let with = BTreeMap::from([("x-key".to_owned(), "KEY".to_owned())]);
        let secrets = BTreeMap::from([("KEY".to_owned(), Ok(Secret::new("tOk-en-12")))]);
        let headers = RequestHeaders::new(&said, &with, &secrets).expect("sound").map();
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept-encoding", "x-key", "x-key_id"]);
        assert_eq!(headers["x-key"], "tOk-en-12");
    }

    #[test]
    fn a_missing_secret_is_to_be_named_only_where_it_is_not() {
        let with = BTreeMap::from([("x-key".to_owned(), "KEY".to_owned())]);
        let said = |secrets: &BTreeMap<String, Result<Secret, String>>| {
            RequestHeaders::new(&Headers::new(), &with, secrets).err().expect("nothing is sent").message
        };
        assert!(said(&BTreeMap::new()).ends_with("[secrets.KEY] file = \"…\""));
        let unreadable = said(&BTreeMap::from([("KEY".to_owned(), Err("look why".to_owned()))]));
        assert!(unreadable.ends_with("so nothing was sent; look why"), "{unreadable}");
    }

    #[test]
    fn a_secret_is_in_no_header_that_a_guest_sees() {
        let said: Vec<(HeaderName, HeaderValue)> = [
            ("x-tok-en-1", "in its name"),
            ("x-echo", "<tOk-en-1>"),
            ("set-cookie", "a=b"),
            ("content-type", "text/plain"),
        ]
        .into_iter()
        .map(|(name, value)| (name.parse().expect("a name"), HeaderValue::from_static(value)))
        .collect();
        let blanker = Blanker::new(&[Secret::new("Bearer tOk-en-1")]);
        let seen = answer_headers(&said.into_iter().collect(), &blanker).expect("few enough");
        let shown: Vec<String> =
            seen.iter().map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value))).collect();
        assert_eq!(shown, ["x-echo: <***>", "content-type: text/plain"]);
    }
}

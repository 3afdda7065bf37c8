//! What a registry says where it wants to know who asks: by name and password, or by a token of
//! another server (the token authentication that registries have in common).
//!
//! <https://distribution.github.io/distribution/spec/auth/token/>

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use url::Url;

/// How a registry wants to be told who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// By name and password.
    Basic,
    /// By a token, which is had at this address.
    Bearer(Url),
}

impl Challenge {
    /// The challenge of an answer, for reading this repository; none where there is none that is
    /// understood. A token is preferred: it is good for this repository alone.
    pub(crate) fn from_headers(headers: &HeaderMap, repository: &str) -> Option<Self> {
        let mut found = None;
        for header in headers.get_all(WWW_AUTHENTICATE) {
            let challenges = header.to_str().ok().and_then(|text| http_auth::parse_challenges(text).ok());
            for challenge in challenges.unwrap_or_default() {
                let parameter = |name: &str| {
                    let named = challenge.params.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                    named.map(|(_, value)| value.to_unescaped())
                };
                if challenge.scheme.eq_ignore_ascii_case("basic") {
                    found.get_or_insert(Self::Basic);
                }
                if challenge.scheme.eq_ignore_ascii_case("bearer")
                    && let Some(mut realm) = parameter("realm").and_then(|realm| Url::parse(&realm).ok())
                {
                    // The scope is ours to say: reading, and this repository alone.
                    let scope = format!("repository:{repository}:pull");
                    let mut query = realm.query_pairs_mut();
                    query.extend_pairs(parameter("service").map(|service| ("service", service)));
                    query.append_pair("scope", &scope);
                    drop(query);
                    return Some(Self::Bearer(realm));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn challenge(texts: &[&str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for text in texts {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(text).expect("a header"));
        }
        Challenge::from_headers(&headers, "acme/tool")
    }

    #[test]
    fn a_challenge_is_read_however_it_is_written() {
        let asked = "https://auth.test/token?service=registry.test&scope=repository%3Aacme%2Ftool%3Apull";
        let bearer = Some(Challenge::Bearer(Url::parse(asked).expect("an address")));
        for (texts, found) in [
            (&[][..], None),
            (&["nonsense"], None),
            (&["Digest realm=\"a\""], None),
            (&["Bearer realm=\"auth.test/token\""], None),
            (&["Bearer service=\"registry.test\""], None),
            (&["Basic realm=\"a\""], Some(Challenge::Basic)),
            (
                &["Bearer realm=\"https://auth.test/token\",service=\"registry.test\",scope=\"*:*:*\""],
                bearer.clone(),
            ),
            (&["bearer Realm=\"https://auth.test/token\", service=registry.test"], bearer.clone()),
            (
                &["Basic realm=\"a\"", "Bearer realm=\"https://auth.test/token\",service=\"registry.test\""],
                bearer.clone(),
            ),
            (
                &["Basic realm=\"a\", Bearer realm=\"https://auth.test/token\", service=\"registry.test\""],
                bearer,
            ),
        ] {
            assert_eq!(challenge(texts), found, "{texts:?}");
        }
    }
}

//! Questions and answers of the two search engines that are known.

use cofferdam_sdk::serde_json::Value;
use cofferdam_sdk::text::is_deceptive;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// A result.
#[derive(Clone, Debug, Serialize, JsonSchema, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its title.
    pub(crate) title: String,
    /// Its address.
    pub(crate) url: String,
    /// What the search engine shows of it.
    pub(crate) excerpt: String,
}

/// Characters of a title and of an excerpt.
const TITLE_CHARS: usize = 300;
const EXCERPT_CHARS: usize = 1000;

/// The address that asks this.
pub(crate) fn query_of(endpoint: &str, query: &str, count: u32) -> String {
    let separator = if endpoint.contains('?') { '&' } else { '?' };
    let query = encoded(query);
    // Each engine refuses what the other one needs.
    match endpoint.contains("api.search.brave.com") {
        true => format!("{endpoint}{separator}q={query}&count={count}"),
        false => format!("{endpoint}{separator}q={query}&format=json"),
    }
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        match byte {
            b if b.is_ascii_alphanumeric() || b"-._~".contains(&b) => encoded.push(char::from(b)),
            b => write!(encoded, "%{b:02X}").expect("a String grows"),
        }
        encoded
    })
}

/// The first results; none where the answer has no list of them.
pub(crate) fn found(answer: &Value, count: usize) -> Option<Vec<Found>> {
    let list = answer.pointer("/web/results").or_else(|| answer.get("results")).and_then(Value::as_array)?;
    let text = |item: &Value, name: &str, chars: usize| {
        let text = item.get(name).and_then(Value::as_str).unwrap_or_default();
        // A line break between two words keeps them apart.
        let line = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
        line.filter(|c| !is_deceptive(*c)).take(chars).collect::<String>()
    };
    let one = |item: &Value| {
        let brief = if item.get("content").is_some() { "content" } else { "description" };
        Found {
            title: text(item, "title", TITLE_CHARS),
            url: text(item, "url", 2000),
            excerpt: text(item, brief, EXCERPT_CHARS),
        }
    };
    Some(list.iter().map(one).filter(|found| !found.url.is_empty()).take(count).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_sdk::serde_json::json;

    #[test]
    fn a_query_is_one_parameter_whatever_is_in_it() {
        let url = query_of("https://searx.example/search", "a&b=c #ä", 5);
        assert_eq!(url, "https://searx.example/search?q=a%26b%3Dc%20%23%C3%A4&format=json");
        let url = query_of("https://api.search.brave.com/res/v1/web/search", "x", 5);
        assert_eq!(url, "https://api.search.brave.com/res/v1/web/search?q=x&count=5");
    }

    #[test]
    fn both_forms_are_read_and_nothing_else() {
        let one = Found { title: "T".into(), url: "https://a.example/".into(), excerpt: "E".into() };
        let searx = json!({ "results": [{ "title": "T", "url": "https://a.example/", "content": "E\u{200b}" }, { "title": "no address" }] });
        let brave = json!({ "web": { "results": [{ "title": "T", "url": "https://a.example/", "description": "E" }] } });
        for answer in [searx, brave] {
            assert_eq!(found(&answer, 5).expect("a list"), std::slice::from_ref(&one));
            assert_eq!(found(&answer, 0).map(|found| found.len()), Some(0));
        }
        assert_eq!(found(&json!({ "error": "x" }), 5), None);
    }

    #[test]
    fn words_on_two_lines_stay_two_words() {
        let answer = json!({ "results": [{ "title": "a\tb", "url": "https://a.example/", "content": "c\nd\u{2028}e" }] });
        let found = found(&answer, 1).expect("a list");
        assert_eq!((found[0].title.as_str(), found[0].excerpt.as_str()), ("a b", "c d e"));
    }
}

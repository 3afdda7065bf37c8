//! A line of the log from what is logged: pure. It is one line for all fields, no secret
//! is in it, and no field is longer than [`FIELD_BYTES_MAX`].

use super::LogFormat;
use cofferdam_core::secret::redact;
use cofferdam_core::text::{is_deceptive, with_causes};
use serde_json::{Map, Value};
use std::error::Error;
use std::fmt::{self, Write};
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

/// A longer message or value is cut: a line must not crowd out all others.
pub(super) const FIELD_BYTES_MAX: usize = 8 << 10;

/// The message and the named values of an event, in order.
#[derive(Default)]
pub(super) struct EventFields {
    message: String,
    values: Vec<(&'static str, LoggedValue)>,
}

/// A value.
enum LoggedValue {
    /// A number or a word that stands as it is in JSON.
    Plain(Value),
    /// Something in words.
    Said(String),
    /// A text, which stands between quotes.
    Quoted(String),
}

impl EventFields {
    pub(super) fn from_event(event: &Event<'_>) -> Self {
        let mut fields = Self::default();
        event.record(&mut fields);
        fields
    }

    pub(super) fn message(text: &str) -> Self {
        Self { message: fit(text), values: Vec::new() }
    }

    /// All of it in words: what cannot stand on a line is escaped.
    pub(super) fn words(&self) -> String {
        let mut words = String::new();
        escape(&mut words, &self.message);
        for (name, value) in &self.values {
            let _ = write!(words, " {name}=");
            match value {
                LoggedValue::Plain(value) => drop(write!(words, "{value}")),
                LoggedValue::Said(said) => escape(&mut words, said),
                LoggedValue::Quoted(text) => escape(&mut words, &format!("{text:?}")),
            }
        }
        words
    }

    fn push(&mut self, field: &Field, value: LoggedValue) {
        self.values.push((field.name(), value));
    }
}

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let said = fit(&format!("{value:?}"));
        match field.name() {
            "message" => self.message = said,
            _ => self.push(field, LoggedValue::Said(said)),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message = fit(value),
            _ => self.push(field, LoggedValue::Quoted(fit(value))),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, LoggedValue::Plain(value.into()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, LoggedValue::Plain(value.into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, LoggedValue::Plain(value.into()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.push(field, LoggedValue::Plain(value.into()));
    }

    /// With its causes.
    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.push(field, LoggedValue::Said(fit(&with_causes(value))));
    }
}

/// The line of an event, its newline included: when it was (UTC, RFC 3339), how grave it is, and
/// the module that says it.
pub(super) fn format_line(
    format: LogFormat,
    (time, level, target): (&str, Level, &str),
    fields: &EventFields,
) -> String {
    if format == LogFormat::Text {
        return format!("{time} {:>5} {target}: {}\n", level.as_str(), fields.words());
    }
    let mut object = Map::new();
    let mut text = |name: &str, text: &str| object.insert(name.to_owned(), text.into());
    text("timestamp", time);
    text("level", level.as_str());
    text("target", target);
    text("message", &fields.message);
    let value = |value: &LoggedValue| match value {
        LoggedValue::Plain(value) => value.clone(),
        LoggedValue::Said(text) | LoggedValue::Quoted(text) => text.as_str().into(),
    };
    let values = fields.values.iter().map(|(name, logged)| ((*name).to_owned(), value(logged)));
    object.insert("fields".to_owned(), values.collect::<Map<_, _>>().into());
    format!("{}\n", Value::from(object))
}

/// Without secrets, and cut; in this order, so that no half of a secret is left at the cut.
fn fit(text: &str) -> String {
    let text = redact(text);
    match text.len() {
        0..=FIELD_BYTES_MAX => text.into_owned(),
        length => {
            let kept = &text[..text.floor_char_boundary(FIELD_BYTES_MAX)];
            format!("{kept}… ({length} bytes)")
        }
    }
}

/// What could end the line, or move or hide what stands around it, is written as an escape.
fn escape(line: &mut String, text: &str) {
    for c in text.chars() {
        if is_deceptive(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::secret::Secret;

    fn line(message: &str, values: Vec<(&'static str, LoggedValue)>) -> [String; 2] {
        let fields = EventFields { values, ..EventFields::message(message) };
        let said = ("2026-01-02T03:04:05.678901Z", Level::WARN, "cofferdam::x");
        [LogFormat::Text, LogFormat::Json].map(|format| format_line(format, said, &fields))
    }

    #[test]
    fn it_is_one_line_in_either_format_whatever_it_holds() {
        let values = || {
            vec![
                ("count", LoggedValue::Plain(3.into())),
                ("said", LoggedValue::Said("a\nb\u{1b}[31m".into())),
                ("name", LoggedValue::Quoted("x\"\r\n".into())),
            ]
        };
        let [text, json] = line("two\nlines\u{202e}", values());
        assert_eq!(
            text,
            "2026-01-02T03:04:05.678901Z  WARN cofferdam::x: two\\nlines\\u{202e} count=3 said=a\\nb\\u{1b}[31m \
             name=\"x\\\"\\r\\n\"\n"
        );
        assert_eq!(json.matches('\n').count(), 1);
        let read: Value = serde_json::from_str(&json).expect("JSON");
        let fields = serde_json::json!({ "count": 3, "said": "a\nb\u{1b}[31m", "name": "x\"\r\n" });
        assert_eq!((&read["level"], &read["target"]), (&"WARN".into(), &"cofferdam::x".into()));
        assert_eq!((&read["message"], &read["fields"]), (&"two\nlines\u{202e}".into(), &fields));
        assert_eq!(read["timestamp"], "2026-01-02T03:04:05.678901Z");
    }

    #[test]
    fn no_secret_passes_whoever_says_it_and_wherever() {
        const TOKEN: &str = "123456:AAF-the_lines_token";
        const KEY: &str = "sk-the/lines+key=";
        drop((Secret::new(TOKEN), Secret::new(KEY)));
        let encoded = KEY.replace('/', "%2F").replace('+', "%2B").replace('=', "%3D");
        for said in [
            // An HTTP client, with the address; and in debugging form.
            format!("error sending request for url (https://a.example/bot{TOKEN}/getUpdates): refused"),
            format!("Url {{ path: \"/file/bot{}/x\" }}", TOKEN.replace(':', "%3A")),
            format!("GET /v1?key={encoded}"),
            // Headers.
            format!("Authorization: Bearer {KEY}"),
            format!("{{\"authorization\": \"Bearer {KEY}\", \"x-api-key\": \"{KEY}\"}}"),
            // Configurations that hold one in the wrong place.
            format!("cofferdam.toml:3: invalid type: string \"{KEY}\", expected u32"),
            format!("COFFERDAM_X: \"{TOKEN}\" is not a whole number"),
            // Last words.
            format!("panicked at src/x.rs:1:1:\ncalled `Result::unwrap()` on an `Err` value: \"{TOKEN}\""),
        ] {
            let error = std::io::Error::other(said.clone());
            let causes = format!("{error}: {error}");
            for line in [
                line(&fit(&said), Vec::new()),
                line("x", vec![("said", LoggedValue::Said(fit(&format!("{error:?}"))))]),
                line(
                    "x",
                    vec![
                        ("quoted", LoggedValue::Quoted(fit(&said))),
                        ("error", LoggedValue::Said(fit(&causes))),
                    ],
                ),
            ]
            .concat()
            {
                let found =
                    ["AAF-the", "lines+", "lines%2B", "lines%2b"].iter().any(|part| line.contains(part));
                assert!(!found && line.contains("***"), "{line}");
            }
        }
    }

    #[test]
    fn no_secret_is_left_even_where_a_value_is_cut() {
        drop(Secret::new("key-of-the-log-test"));
        let padding = "x".repeat(FIELD_BYTES_MAX - 4);
        for line in line(&fit(&format!("{padding}key-of-the-log-test and more")), Vec::new()) {
            assert!(!line.contains("key-") && line.contains("***"), "the cut left a part of it");
            assert!(line.len() < FIELD_BYTES_MAX + 300);
        }
    }
}

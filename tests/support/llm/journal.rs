//! One request as a test sees it.

use serde_json::Value;

use super::dialect::Dialect;
use crate::http::find_header;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct RequestRecord {
    /// Counts from 0 in the order of arrival.
    pub number: usize,
    /// Which of the connections it came on, from 1.
    pub connection: usize,
    /// The API; none for a target that none has.
    pub dialect: Option<Dialect>,
    /// The request target.
    pub target: String,
    /// The headers as sent.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; null when it is none.
    pub body: Value,
    /// Bytes of the body.
    pub bytes: usize,
    /// What the real API would refuse about it.
    pub violation: Option<String>,
}

impl RequestRecord {
    /// The value of a header; names compare without case.
    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.headers, name)
    }

    /// The messages, or the items of the input.
    pub fn messages(&self) -> &[Value] {
        let list = if self.body["input"].is_array() { &self.body["input"] } else { &self.body["messages"] };
        list.as_array().map_or(&[], Vec::as_slice)
    }

    /// What the model is shown of its calls' results, in order.
    pub fn results(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let of = |message: &Value| -> Vec<String> {
            if message["role"] == "tool" {
                return text(&message["content"]).into_iter().collect();
            }
            if message["type"] == "function_call_output" {
                return text(&message["output"]).into_iter().collect();
            }
            let blocks = message["content"].as_array().into_iter().flatten();
            blocks.filter(|b| b["type"] == "tool_result").filter_map(|b| text(&b["content"])).collect()
        };
        self.messages().iter().flat_map(of).collect()
    }

    /// The last message of the user: the line of JSON about it, without its time, and the words
    /// below.
    ///
    /// # Panics
    /// Where there is no such line: every message has one.
    pub fn last_said(&self) -> (Value, String) {
        let message = self.messages().iter().rfind(|message| message["role"] == "user").expect("a message");
        let text = match &message["content"] {
            Value::String(text) => text.clone(),
            parts => {
                let parts = parts.as_array().into_iter().flatten();
                parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
            }
        };
        let (line, words) = text.split_once('\n').expect("a line about it");
        let mut line: Value = serde_json::from_str(line).expect("one line of JSON");
        let time = line.as_object_mut().and_then(|fields| fields.remove("time"));
        assert_eq!(line["about"], "this message", "{text}");
        // Such as `Monday 2026-11-23 01:10 +01:00 (Europe/Berlin)`.
        let time = time.as_ref().and_then(Value::as_str).expect("every message has its time");
        let time: Vec<_> = time.split(' ').collect();
        assert!(time[0].ends_with("day") && time[1].len() == 10 && time[2].len() == 5, "{time:?}");
        assert!(time[3].len() == 6 && time[3].starts_with(['+', '-']), "{time:?}");
        (line, words.to_owned())
    }

    /// All text of the request: instructions, messages, results.
    pub fn text(&self) -> String {
        self.body.to_string()
    }
}

//! The time as a model is told it: day, hour and zone of the machine, with each request. It is kept
//! with the request's words, so that what a server has cached of a conversation stays as it was.

use cofferdam_core::text::escape_deceptive_json;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use std::sync::OnceLock;

/// A clock on the wall of this machine.
#[derive(Clone, Debug)]
pub struct WallClock {
    zone: TimeZone,
    now: fn() -> Timestamp,
}

impl WallClock {
    /// The machine's. Its zone is read once, since a confined process may not read it any more;
    /// where it cannot be read it is UTC.
    pub fn system() -> Self {
        static ZONE: OnceLock<TimeZone> = OnceLock::new();
        let zone = ZONE.get_or_init(|| TimeZone::try_system().unwrap_or(TimeZone::UTC)).clone();
        Self { zone, now: Timestamp::now }
    }

    /// One that shows what it is told to.
    #[cfg(test)]
    pub(super) fn fixed(zone: TimeZone, now: fn() -> Timestamp) -> Self {
        Self { zone, now }
    }

    /// Day, hour, offset and zone: `Monday 2026-11-23 01:10 +01:00 (Europe/Berlin)`.
    pub(super) fn describe_now(&self) -> String {
        let now = (self.now)().to_zoned(self.zone.clone());
        let hour = now.strftime("%A %Y-%m-%d %H:%M %:z");
        match self.zone.iana_name() {
            Some(zone) => format!("{hour} ({zone})"),
            None => hour.to_string(),
        }
    }
}

/// The words of a request below the line that tells of them: what its channel says, and the time.
pub(super) fn frame_request(about: Option<&str>, time: &str, text: &str) -> String {
    let about = about.and_then(|about| serde_json::from_str::<Map<String, Value>>(about).ok());
    let mut about = about.unwrap_or_else(|| Map::from_iter([("about".to_owned(), "this message".into())]));
    about.insert("time".into(), time.into());
    let about = Value::Object(about).to_string();
    // What quoted words hide is shown: nothing in them passes for the end of the line.
    format!("{}\n{text}", escape_deceptive_json(&about))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_told_with_its_zone() {
        let now = || Timestamp::from_second(1_795_392_600).expect("a time");
        let check = |zone: TimeZone, expected: &str| {
            assert_eq!(WallClock::fixed(zone, now).describe_now(), expected);
        };
        check(TimeZone::UTC, "Monday 2026-11-23 00:10 +00:00 (UTC)");
        check(
            TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone"),
            "Monday 2026-11-23 01:10 +01:00",
        );
        check(TimeZone::posix("<-0330>3:30").expect("a zone"), "Sunday 2026-11-22 20:40 -03:30");
    }

    #[test]
    fn the_line_is_one_and_says_what_the_channel_says() {
        assert_eq!(
            frame_request(None, "noon", "a\nb"),
            "{\"about\":\"this message\",\"time\":\"noon\"}\na\nb"
        );
        let about = r#"{"about":"this message","untrusted":true,"from":{"id":7}}"#;
        let framed = frame_request(Some(about), "noon", "hi");
        let (line, text) = framed.split_once('\n').expect("two lines");
        let line: Value = serde_json::from_str(line).expect("JSON");
        let expected = serde_json::json!({ "about": "this message", "untrusted": true, "from": { "id": 7 }, "time": "noon" });
        assert_eq!((line, text), (expected, "hi"));
    }
}

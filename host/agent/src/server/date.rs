//! The time by a server's clock, as its answers tell it.

use std::time::SystemTime;

/// The time in a `Date` or `Retry-After` header; none in what is no date.
pub fn http_date(text: &str) -> Option<SystemTime> {
    let date = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
    Some(SystemTime::from(date.timestamp()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_date_is_a_time_and_nothing_else_is() {
        // RFC 9110's own example.
        let example = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(http_date(" Sun, 06 Nov 1994 08:49:37 GMT"), Some(example));
        for nonsense in ["", "soon", "7", "1994-11-06T08:49:37Z"] {
            assert_eq!(http_date(nonsense), None, "{nonsense}");
        }
    }
}

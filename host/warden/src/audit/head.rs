//! The head of a chain: its last record's position and hash, which stand for everything before it.
//!
//! It is text that people keep elsewhere, `SEQ:SHA256`; anything else is refused when read back.

use cofferdam_core::audit::GENESIS;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The last record of a chain. Shown and read as `SEQ:SHA256`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Its position, from 1; 0 when there is no record.
    pub seq: u64,
    /// SHA-256 of its line, lower-case hex; [`GENESIS`] when there is no record.
    pub sha256: String,
}

impl Head {
    /// The head of an empty log.
    pub fn genesis() -> Self {
        Self { seq: 0, sha256: GENESIS.to_owned() }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.sha256)
    }
}

impl FromStr for Head {
    /// A sentence that says what to give instead.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            let text = cofferdam_core::text::one_line(text, 100);
            format!("{text:?} is not a head; give SEQ:SHA256 as `audit verify` prints it")
        };
        let (seq, sha256) = text.trim().split_once(':').ok_or_else(bad)?;
        let seq = seq.parse().map_err(|_| bad())?;
        let sha256 = sha256.to_ascii_lowercase();
        if sha256.len() != 64 || !sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad());
        }
        Ok(Self { seq, sha256 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_is_shown() {
        let head = Head { seq: 12, sha256: "ab".repeat(32) };
        assert_eq!(head.to_string().parse(), Ok(head.clone()));
        assert_eq!(format!(" 12:{}\n", "AB".repeat(32)).parse(), Ok(head));
        assert_eq!(Head::genesis().to_string().parse(), Ok(Head::genesis()));
        let (short, long, other) = ("ab".repeat(31), "ab".repeat(33), "zz".repeat(32));
        for text in [
            "",
            "12",
            ":",
            "12:",
            &format!("12:{short}"),
            &format!("12:{long}"),
            &format!("12:{other}"),
            &format!("-1:{}", "ab".repeat(32)),
            &format!("1.5:{}", "ab".repeat(32)),
        ] {
            assert!(text.parse::<Head>().is_err(), "{text}");
        }
    }
}

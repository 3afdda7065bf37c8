//! A behaviour that opens one path over and over, and counts what it came upon: for tests that swap
//! what the path stands for meanwhile.

use std::collections::BTreeMap;
use std::io;

use cofferdam_sdk::files::{self, File, Opened};
use cofferdam_sdk::serde_json::json;

use crate::{Arguments, Seen};

/// What is asked for at once: less than some files have, so that one is read while its name
/// changes.
const READ_BYTES: u64 = 1 << 10;
/// Outcomes told apart; more of them are as wrong as one that should not be.
const OUTCOMES_MAX: usize = 100;

pub(crate) fn run(arguments: &Arguments) -> Option<Seen> {
    (arguments.name() == "open_loop").then(|| open_loop(arguments))
}

/// Opens and reads `path`, `bytes` times.
fn open_loop(arguments: &Arguments) -> Seen {
    let (path, rounds) = (arguments.path()?, arguments.bytes()?);
    let mut outcomes = BTreeMap::<String, u64>::new();
    for _ in 0..rounds {
        let seen = once(path);
        if let Some(count) = outcomes.get_mut(&seen) {
            *count += 1;
        } else if outcomes.len() < OUTCOMES_MAX {
            outcomes.insert(seen, 1);
        }
    }
    Ok(json!({ "opens": rounds, "outcomes": outcomes }))
}

fn once(path: &str) -> String {
    let read = files::open(path).and_then(|(opened, _)| match opened {
        Opened::File(file) => read(&file).map(Some),
        Opened::Directory(_) => Ok(None),
    });
    match read {
        Ok(Some(bytes)) => content(&bytes),
        Ok(None) => "directory".into(),
        Err(error) => error.kind().to_string(),
    }
}

fn read(file: &File) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let (bytes, ended) = file.read_at(all.len() as u64, READ_BYTES)?;
        all.extend_from_slice(&bytes);
        if ended || bytes.is_empty() {
            return Ok(all);
        }
    }
}

/// A file of one letter, told by letter and length; anything else as it is.
fn content(bytes: &[u8]) -> String {
    match bytes.first() {
        Some(first) if bytes.iter().all(|byte| byte == first) => {
            format!("{} x {}", char::from(*first), bytes.len())
        }
        _ => format!("torn: {}", String::from_utf8_lossy(&bytes[..bytes.len().min(100)])),
    }
}

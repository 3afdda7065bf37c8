//! A behaviour that tells what it is doing until somebody lets it go.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use cofferdam_sdk::progress;
use cofferdam_sdk::serde_json::json;

use crate::{Arguments, Seen};

/// `report_until:TEXT` reports `TEXT 1`, `TEXT 2`, … until something lies at `path`, thousands at a
/// time.
pub(crate) fn run(arguments: &Arguments) -> Option<Seen> {
    (arguments.name() == "report_until").then(|| until(arguments))
}

fn until(arguments: &Arguments) -> Seen {
    let (path, text) = (Path::new(arguments.path()?), arguments.text().unwrap_or_default());
    let mut count: u64 = 0;
    while !path.exists() {
        for _ in 0..1000 {
            count += 1;
            progress::report(&format!("{text} {count}"));
        }
        sleep(Duration::from_millis(10));
    }
    Ok(json!({ "let_go": true }))
}

//! What the audit says of all runs: each began, ended, and each of its calls was carried out once.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Of one run, how often it says each thing.
type Said = BTreeMap<String, usize>;

/// Holds the audit of a state folder against so many runs; what it says, for who reads the end.
///
/// # Errors
/// When a run is missing, did not end, ended twice, or was resumed again without a kill.
pub(super) fn hold(state: &Path, runs: usize, kills: usize) -> Result<String> {
    let mut all: BTreeMap<String, Said> = BTreeMap::new();
    let mut calls: BTreeMap<String, usize> = BTreeMap::new();
    for record in records(state)? {
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        match (text("event").as_str(), text("state").as_str()) {
            ("workflow", "") => {}
            ("workflow", state) => {
                let said = all.entry(text("run")).or_default();
                *said.entry(state.to_owned()).or_default() += 1;
            }
            // An intent that was cut off before anything was published is settled without a file,
            // and comes again.
            ("outcome", _)
                if text("call").contains("/keep")
                    && record["intent"].is_number()
                    && record["files"].as_array().is_some_and(|files| !files.is_empty()) =>
            {
                *calls.entry(text("call")).or_default() += 1;
            }
            _ => {}
        }
    }
    ensure!(all.len() == runs, "the audit knows {} runs of {runs}", all.len());
    let count = |said: &Said, state: &str| said.get(state).copied().unwrap_or(0);
    let (mut again, mut resumed) = (0, 0);
    for (run, said) in &all {
        let ends: usize = ["done", "failed", "cancelled"].iter().map(|state| count(said, state)).sum();
        ensure!(count(said, "started") >= 1 && ends >= 1, "{run}: {said:?}");
        // What is written before it is done is written again where a kill came between.
        let more: usize = said.values().map(|times| times - 1).sum();
        ensure!(more <= kills, "{run} says more than kills explain: {said:?}");
        again += more;
        resumed += usize::from(count(said, "resumed") > 0);
    }
    for (call, times) in &calls {
        ensure!(*times == 1, "{call} was carried out {times} times");
    }
    Ok(format!("{resumed} runs resumed, {} calls after that, {again} events noted again", calls.len()))
}

/// Every record, of rotated files, too.
fn records(state: &Path) -> Result<Vec<Value>> {
    let mut records = Vec::new();
    for entry in std::fs::read_dir(state)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.starts_with("audit") || !name.ends_with(".jsonl") || name.contains("signatures") {
            continue;
        }
        for line in std::fs::read_to_string(&path)?.lines() {
            records.push(serde_json::from_str(line).with_context(|| line.to_owned())?);
        }
    }
    Ok(records)
}

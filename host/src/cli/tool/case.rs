//! The cases of a tool's folder, all read before anything runs.

use super::super::spell_path;
use anyhow::{Context, bail};
use cofferdam_core::text::one_line;
use cofferdam_review::tool::Case;
use cofferdam_warden::files::open_regular;
use std::io::Read;
use std::path::Path;

const CASE_BYTES_MAX: u64 = 4 << 20;
const CASES_MAX: usize = 1000;

/// The cases of a folder, by file name.
///
/// # Errors
/// Every file that is no case, each with what is wrong; and a folder without cases.
pub(super) fn read_all(dir: &Path) -> anyhow::Result<Vec<Case>> {
    let entries = std::fs::read_dir(dir)
        .with_context(|| format!("cannot read the cases in {}; --cases DIR names them", dir.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", dir.display()))?.path();
        if path.extension().is_some_and(|e| e == "json") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("there are no cases in {}; write one, e.g. {}/works.json", dir.display(), dir.display());
    }
    if files.len() > CASES_MAX {
        bail!("{} has {} cases; at most {CASES_MAX} are run", dir.display(), files.len());
    }
    let (mut cases, mut wrong) = (Vec::new(), Vec::new());
    for file in files {
        match read(&file) {
            Ok(case) => cases.push(case),
            Err(why) => wrong.push(format!("{}: {why:#}", spell_path(&file))),
        }
    }
    if wrong.is_empty() { Ok(cases) } else { bail!("{}", wrong.join("\n")) }
}

fn read(file: &Path) -> anyhow::Result<Case> {
    let opened = open_regular(file)?.take(CASE_BYTES_MAX + 1);
    let text = std::io::read_to_string(opened).context("it is not UTF-8 text")?;
    if text.len() as u64 > CASE_BYTES_MAX {
        bail!("it is longer than {CASE_BYTES_MAX} bytes; put large content into an attachment");
    }
    let mut case = Case::parse(&text).map_err(anyhow::Error::msg)?;
    if case.name.is_empty() {
        case.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    case.name = one_line(&case.name, 120);
    file.clone_into(&mut case.file);
    Ok(case)
}

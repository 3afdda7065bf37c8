//! `cofferdam policy export`: the embedded policies as files, for an operator who wants others. It
//! writes into a folder of its own and replaces nothing.

use super::super::Exit;
use super::super::doctor::shell;
use super::super::new_file::write_new;
use crate::gateway;
use anyhow::{Context, bail};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) fn run(dir: &Path, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let shown = dir.display();
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{shown} is not empty; name a folder that does not exist yet");
    }
    let policies = gateway::embedded_policies();
    let mut written = Vec::new();
    for (name, text) in policies {
        let file = dir.join(name);
        if let Err(error) = write(&file, text) {
            remove(&written, dir);
            return Err(error);
        }
        written.push(file);
    }
    writeln!(
        out,
        "{} files in {shown}. Change them, run `cofferdam policy check {}`, then set [policies] dir.",
        policies.len(),
        shell(dir)
    )?;
    Ok(Exit::Done)
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let folder = file.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    write_new(file, 0o666, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Removes what was written, so that the same folder can be named again. Folders that hold anything
/// else stay.
fn remove(written: &[PathBuf], dir: &Path) {
    written.iter().for_each(|file| drop(fs::remove_file(file)));
    let below = ["profiles", "tools"].map(|folder| dir.join(folder));
    below.iter().for_each(|folder| drop(fs::remove_dir(folder)));
}

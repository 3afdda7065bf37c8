//! `cofferdam policy export`: the embedded policies as files, for an operator who wants others. It
//! writes into a folder of its own and replaces nothing.

use super::super::Exit;
use crate::gateway;
use anyhow::{Context, bail};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

pub(super) fn run(dir: &Path, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let shown = dir.display();
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{shown} is not empty; name a folder that does not exist yet");
    }
    let policies = gateway::embedded_policies();
    for (name, text) in policies {
        let file = dir.join(name);
        let folder = file.parent().unwrap_or(dir);
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let created = OpenOptions::new().write(true).create_new(true).open(&file);
        created
            .and_then(|mut created| created.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    writeln!(
        out,
        "{} files in {shown}. Change them, run `cofferdam policy check {shown}`, then set [policies] dir.",
        policies.len()
    )?;
    Ok(Exit::Done)
}

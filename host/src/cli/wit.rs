//! `cofferdam wit`: the contract with guests as files, for authors whose language binds from it. It
//! replaces nothing that says something else.

use super::Exit;
use super::new_file::write_new;
use super::tool::contract;
use anyhow::{Context, bail};
use cofferdam_warden::files::open_regular;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

pub(super) const EXAMPLE: &str = "A file that is there and says the same stays; one that says something else is kept, and \
nothing is written (exit 2).\nA world of your own beside it, e.g. wit/mine.wit, names what your tool uses; see \
docs/writing-a-tool.md.\nExample: cofferdam wit && ls wit";

pub(super) fn run(dir: &Path, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let (mut missing, mut different) = (Vec::new(), Vec::new());
    for (name, text) in contract() {
        let file = dir.join(name);
        match read(&file, text.len()) {
            Ok(there) if there == text.as_bytes() => {}
            Err(error) if error.kind() == ErrorKind::NotFound => missing.push((file, text)),
            Ok(_) => different.push(file.display().to_string()),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
        }
    }
    if !different.is_empty() {
        bail!(
            "{} says something else, and nothing is overwritten; name another folder",
            different.join(", ")
        );
    }
    for (file, text) in &missing {
        // What somebody puts there meanwhile stays.
        write_new(file, 0o666, text).with_context(|| format!("cannot write {}", file.display()))?;
        writeln!(out, "wrote {}", file.display())?;
    }
    let (written, there) = (missing.len(), contract().count() - missing.len());
    writeln!(out, "{}: {written} files written, {there} were there already", dir.display())?;
    Ok(Exit::Done)
}

/// What a file says, as far as it tells whether that is a text of so many bytes.
fn read(file: &Path, bytes: usize) -> std::io::Result<Vec<u8>> {
    let mut there = Vec::new();
    open_regular(file)?.take(bytes as u64 + 1).read_to_end(&mut there)?;
    Ok(there)
}

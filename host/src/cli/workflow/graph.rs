//! `cofferdam workflow graph`: a workflow as a picture.

use crate::cli::Exit;
use crate::workflows;
use std::io::Write;
use std::path::Path;

pub(super) fn run(file: &Path) -> anyhow::Result<Exit> {
    let loaded = workflows::load(file)?;
    write!(std::io::stdout(), "{}", cofferdam_workflow::mermaid(&loaded.workflow))?;
    Ok(Exit::Done)
}

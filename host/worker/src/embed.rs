//! What a build embeds of a component: its machine code, and what it says of itself, so that
//! neither is made when the gateway starts.

use crate::{code, engine, machine};
use cofferdam_core::capability::Grants;
use cofferdam_core::entry::EntryPoint;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// For each `NAME.wasm` writes `NAME.cwasm` and `NAME.json` beside it.
pub(crate) fn run(files: &[String]) -> ExitCode {
    for file in files {
        if let Err(why) = embed(Path::new(file)) {
            eprintln!("{file}: {why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn embed(file: &Path) -> Result<(), String> {
    let engine = engine::engine()?;
    let bytes = std::fs::read(file).map_err(|e| e.to_string())?;
    let code = code::compile(&engine, &bytes)?;
    write(file, "cwasm", &code)?;
    let component = code::load_own(&engine, &code)?;
    let linked = machine::link(&component, &Grants::all(), &EntryPoint::Tool).map_err(|e| e.to_string())?;
    let description = machine::describe(&linked).map_err(|e| e.to_string())?;
    let imports = component.component_type();
    let imports: Vec<_> = imports.imports(&engine).map(|(name, _)| name.to_owned()).collect();
    let told = serde_json::json!({ "description": description, "imports": imports });
    let json = serde_json::to_vec(&told).map_err(|e| e.to_string())?;
    write(file, "json", &json)
}

fn write(file: &Path, extension: &str, content: &[u8]) -> Result<(), String> {
    let beside: PathBuf = file.with_extension(extension);
    std::fs::write(&beside, content).map_err(|e| format!("cannot write {}: {e}", beside.display()))
}

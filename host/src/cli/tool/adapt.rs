//! `cofferdam tool adapt`: makes a component of a core module for `wasm32-wasip1`, once and
//! offline, so that what a policy pins is what runs. Nothing is compiled and nothing runs.

use super::super::Exit;
use super::super::doctor::shell;
use super::inspect::replace;
use anyhow::{Context, bail};
use cofferdam_agent::tools::read_component;
use cofferdam_core::text::one_line;
use cofferdam_warden::sandbox::imports::{self, NotAComponent, interfaces};
use std::path::Path;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
    WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::ComponentEncoder;

pub(super) const EXAMPLE: &str = "Exit codes: 1 no component can be made of the module; 2 the file is no module.\nExample: \
cofferdam tool adapt grep.p1.wasm grep.wasm";

/// Makes the component `to` of the module `from`.
pub(super) fn run(from: &Path, to: &Path) -> anyhow::Result<Exit> {
    let bytes = read_component(from).with_context(|| format!("cannot read {}", from.display()))?;
    match interfaces(&bytes) {
        Err(NotAComponent::CoreModule) => {}
        Ok(_) => bail!("{} is a component already; a policy can pin it as it is", from.display()),
        Err(_) => bail!("{} is no module; give one that was built for wasm32-wasip1", from.display()),
    }
    let component = match component_of(&bytes) {
        Ok(component) => component,
        Err(why) => {
            super::super::tell(&format!("{}: no component can be made of it: {why}", from.display()));
            return Ok(Exit::ToolFailed);
        }
    };
    replace(to, &component)?;
    super::super::tell(&format!("wrote {}; next: cofferdam tool inspect {}", to.display(), shell(to)));
    Ok(Exit::Done)
}

/// A command has `_start`; anything else is called from outside.
fn component_of(module: &[u8]) -> Result<Vec<u8>, String> {
    let is_command = imports::exports_name(module, "_start");
    let adapter = if is_command {
        WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER
    } else {
        WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER
    };
    let encode = || {
        ComponentEncoder::default()
            .module(module)?
            .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter)?
            .validate(true)
            .encode()
    };
    encode().map_err(|e| one_line(&format!("{e:#}"), 400))
}

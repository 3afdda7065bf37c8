//! What a component's bytes say that it imports and exports, read without compiling or running it.
//!
//! Tells which imports go beyond what every guest is given, and what in a profile would grant them.
//! It decides nothing: the linker gives by itself no more than is granted.

pub use cofferdam_core::interfaces::{Import, Needs, needs};

use cofferdam_core::text::one_line;
use wasmparser::{Encoding, Parser, Payload};

/// Imports and exports of one component that are looked at; more than any tool could have.
pub const INTERFACES_MAX: usize = 1000;

/// What every WebAssembly file begins with.
const MAGIC: &[u8] = b"\0asm";

/// Why bytes are not a component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAComponent {
    /// Nothing is there.
    #[error("the file is empty; build the tool with: cargo build --release --target wasm32-wasip2")]
    Empty,
    /// No WebAssembly at all.
    #[error("this is not WebAssembly: {0}; give the .wasm file that cargo built for wasm32-wasip2")]
    NoWasm(String),
    /// A core module, as older targets make.
    #[error(
        "this is a core WebAssembly module, not a component; build the tool with: cargo build --release --target \
         wasm32-wasip2"
    )]
    CoreModule,
    /// More than anybody reads.
    #[error("it imports or exports more than {INTERFACES_MAX} things")]
    TooMany,
}

/// The names at a component's outside, as it gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interfaces {
    /// What it wants from its host, e.g. `wasi:io/streams@0.2.6`.
    pub imports: Vec<String>,
    /// What it offers, e.g. `cofferdam:tool/tool@0.1.0`.
    pub exports: Vec<String>,
}

/// What these bytes import and export at their outside. Reads the sections' headers; what lies
/// within them is checked when the component is compiled.
///
/// # Errors
/// [`NotAComponent`] where the bytes are none.
pub fn interfaces(bytes: &[u8]) -> Result<Interfaces, NotAComponent> {
    if bytes.is_empty() {
        return Err(NotAComponent::Empty);
    }
    if !bytes.starts_with(MAGIC) {
        return Err(NotAComponent::NoWasm("it begins otherwise".to_owned()));
    }
    let no_wasm = |e: wasmparser::BinaryReaderError| NotAComponent::NoWasm(one_line(e.message(), 200));
    let mut found = Interfaces::default();
    // Modules and components lie within components; only the outermost one's names are its own.
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(no_wasm)? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(NotAComponent::CoreModule);
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    push(&mut found.imports, import.map_err(no_wasm)?.name.name)?;
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    push(&mut found.exports, export.map_err(no_wasm)?.name.name)?;
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Whether a core module exports this name.
pub fn exports_name(bytes: &[u8], name: &str) -> bool {
    Parser::new(0).parse_all(bytes).map_while(Result::ok).any(|payload| match payload {
        Payload::ExportSection(exports) => exports.into_iter().flatten().any(|export| export.name == name),
        _ => false,
    })
}

fn push(names: &mut Vec<String>, name: &str) -> Result<(), NotAComponent> {
    if names.len() == INTERFACES_MAX {
        return Err(NotAComponent::TooMany);
    }
    names.push(one_line(name, 200));
    Ok(())
}

impl Interfaces {
    /// The imports that not every guest is given, in the component's order.
    pub fn beyond_baseline(&self) -> Vec<Import> {
        let import = |name: &String| needs(name).map(|needs| Import { name: name.clone(), needs });
        self.imports.iter().filter_map(import).collect()
    }
}

#[cfg(test)]
mod tests;

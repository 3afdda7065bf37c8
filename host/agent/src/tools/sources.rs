//! Where components come from, and the component that a policy pins.

use super::reading::read_component;
use super::registry::{LoadFault, RegistryError};
use cofferdam_core::oci::{ImageReference, SignerKey};
use cofferdam_policy::{ComponentSource, ToolPolicy};
use cofferdam_warden::sandbox::Binary;
use std::path::{Path, PathBuf};

/// Who has the components that were fetched: their bytes, verified and signed by whom the policy
/// names, or why they cannot be had. Nobody is asked over the network.
pub type FetchedComponents =
    Box<dyn Fn(&ImageReference, Option<&SignerKey>) -> Result<Vec<u8>, String> + Send + Sync>;

/// Where components come from.
pub struct Sources {
    /// Builtin components by tool name.
    pub builtins: fn(&str) -> Option<Binary>,
    /// The folder that policy files, and so component files, are relative to.
    pub policies_dir: Option<PathBuf>,
    /// Components of registries.
    pub fetched: FetchedComponents,
}

/// The component that a policy names, as pinned.
///
/// # Errors
/// The builtin that is missing, the file that cannot be read, the SHA-256 that differs, or the
/// component that was not fetched.
pub fn component_bytes(policy: &ToolPolicy, sources: &Sources) -> Result<Binary, RegistryError> {
    let missing = |why: String| RegistryError::new(policy, LoadFault::Missing, why);
    match &policy.component {
        ComponentSource::Builtin => {
            let tool = &policy.tool;
            let none = || {
                format!(
                    "this binary has no builtin component {tool}; write: \
                     component = {{ file = \"{tool}.wasm\", sha256 = \"…\" }}"
                )
            };
            (sources.builtins)(tool.as_str()).ok_or_else(|| missing(none()))
        }
        ComponentSource::Fetched { oci, signer } => {
            (sources.fetched)(oci, signer.as_ref()).map(Binary::new).map_err(missing)
        }
        ComponentSource::File { file: component, sha256: pinned } => {
            let dir = sources.policies_dir.as_deref().unwrap_or(Path::new("."));
            let base = dir.join(&policy.file);
            let path = base.parent().unwrap_or(dir).join(component);
            let unreadable = |cause| {
                missing(format!(
                    "cannot read component {component}: {cause}; put it there (paths are relative to the policy \
                     file), or write where it is: component = {{ file = \"…\", sha256 = \"…\" }}"
                ))
            };
            let binary = Binary::new(read_component(&path).map_err(unreadable)?);
            if *binary.sha256() == *pinned {
                return Ok(binary);
            }
            Err(RegistryError::mismatch(policy, component, pinned, binary.sha256()))
        }
    }
}

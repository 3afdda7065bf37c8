//! Where components come from, and the component that a policy pins.

use super::reading::read_component;
use super::registry::RegistryError;
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
    let (file, tool) = (policy.file.clone(), policy.tool.to_string());
    match &policy.component {
        ComponentSource::Builtin => {
            (sources.builtins)(policy.tool.as_str()).ok_or(RegistryError::NoBuiltin { file, tool })
        }
        ComponentSource::Fetched { oci, signer } => {
            let bytes = (sources.fetched)(oci, signer.as_ref());
            bytes.map(Binary::new).map_err(|cause| RegistryError::NotFetched { file, tool, cause })
        }
        ComponentSource::File { file: component, sha256: pinned } => {
            let dir = sources.policies_dir.as_deref().unwrap_or(Path::new("."));
            let base = dir.join(&policy.file);
            let path = base.parent().unwrap_or(dir).join(component);
            let (component, pinned) = (component.clone(), pinned.clone());
            let bytes = match read_component(&path) {
                Ok(bytes) => bytes,
                Err(e) => {
                    let cause = e.to_string();
                    return Err(RegistryError::Unreadable { file, tool, component, cause });
                }
            };
            let binary = Binary::new(bytes);
            if *binary.sha256() == *pinned {
                return Ok(binary);
            }
            let found = binary.sha256().to_owned();
            Err(RegistryError::Mismatch { file, tool, component, pinned, found })
        }
    }
}

//! `vault_copyto`: copies one file out of `/vault`. The bytes go from the host to the host; this
//! component has no folder, and sees their number and hash only.

use cofferdam_sdk::{StagedFile, Tool, ToolError, export_tool, progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file to copy: a full path under /vault, for example "/vault/contract.pdf". One file;
    /// directories and symbolic links are not copied.
    from: String,
    /// The full path of the copy under /shared or /tmp, name included, for example
    /// "/tmp/contract.pdf". Missing directories are created.
    to: String,
    /// Whether a file already at "to" is replaced. If false, the call fails with "already_exists"
    /// and the file there stays as it is.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Serialize, JsonSchema)]
struct Copied {
    /// Always true: a failure is an error.
    copied: bool,
    /// The file that was copied.
    from: String,
    /// Where the copy is.
    to: String,
    /// Length of the copy in bytes.
    bytes: u64,
    /// SHA-256 of the copy, in lower-case hex.
    sha256: String,
}

impl Tool for Arguments {
    const NAME: &str = "vault_copyto";
    const SUMMARY: &str =
        "Copies one file of /vault to a path under /shared or /tmp, after a person has approved it.";
    type Arguments = Self;
    type Output = Copied;

    fn call(Arguments { from, to, overwrite }: Arguments) -> Result<Copied, ToolError> {
        let mut file = if overwrite { StagedFile::replace(&to) } else { StagedFile::create_new(&to) }?;
        progress::report("copying");
        file.append_file(&from)?;
        let sealed = file.finish()?;
        Ok(Copied { copied: true, from, to, bytes: sealed.bytes, sha256: sealed.sha256 })
    }
}

export_tool!(Arguments);

//! `file_copy`: copies one file, within a mount or across. The bytes go from the host to the host;
//! this component sees their number only. Directories are refused.

use cofferdam_sdk::{ErrorCode, StagedFile, Tool, ToolError, export_tool, progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file to copy: a full path under /shared or /tmp, for example "/shared/report.pdf". One
    /// file; directories are not copied.
    from: String,
    /// The full path of the copy, name included, for example "/shared/archive/report.pdf". Missing
    /// directories are created.
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
    const NAME: &str = "file_copy";
    const SUMMARY: &str = "Copies one file to another path under /shared or /tmp.";
    type Arguments = Self;
    type Output = Copied;

    fn call(Arguments { from, to, overwrite }: Arguments) -> Result<Copied, ToolError> {
        if from == to {
            return Err(ToolError::new(
                ErrorCode::InvalidArguments,
                format!("from and to are the same file; give the copy another path than {to}"),
            ));
        }
        let staged = if overwrite { StagedFile::replace(&to) } else { StagedFile::create_new(&to) };
        let mut file = staged.map_err(|error| into_directory(error, &from, &to))?;
        progress::report("copying");
        file.append_file(&from).map_err(|error| of_directory(error, &from))?;
        let sealed = file.finish()?;
        Ok(Copied { copied: true, from, to, bytes: sealed.bytes, sha256: sealed.sha256 })
    }
}

export_tool!(Arguments);

/// Says how to copy into a directory, where one is in the place of the copy.
fn into_directory(error: ToolError, from: &str, to: &str) -> ToolError {
    let name = from.rsplit('/').next().unwrap_or(from);
    advise(error, format!("to is a directory; to copy into it, name the copy as well: {to}/{name}"))
}

/// Says what to do instead, where a directory was to be copied.
fn of_directory(error: ToolError, from: &str) -> ToolError {
    let said = format!(
        "from is a directory, and only files are copied: list it with file_list and copy its files one \
         by one, or give it another name with file_move: {from}"
    );
    advise(error, said)
}

/// Says this of a directory; any other failure stays as it is.
fn advise(error: ToolError, said: String) -> ToolError {
    if error.code == ErrorCode::IsADirectory { ToolError::new(error.code, said) } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_comes_with_advice_and_other_failures_as_they_are() {
        let failure = |code| ToolError::new(code, "said by the host");
        let into = into_directory(failure(ErrorCode::IsADirectory), "/shared/a.txt", "/tmp/b");
        assert!(into.message.ends_with("/tmp/b/a.txt"), "{}", into.message);
        let of = of_directory(failure(ErrorCode::IsADirectory), "/shared/d");
        assert!(of.message.contains("file_list") && of.message.ends_with("/shared/d"), "{}", of.message);
        assert_eq!((into.code, of.code), (ErrorCode::IsADirectory, ErrorCode::IsADirectory));
        for kept in [
            into_directory(failure(ErrorCode::AlreadyExists), "/a", "/b"),
            of_directory(failure(ErrorCode::NotFound), "/a"),
        ] {
            assert_eq!(kept.message, "said by the host");
        }
    }
}

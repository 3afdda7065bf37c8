//! What lies at a path already: the very file, nothing, or something that must not be taken for it.
//! Names prove nothing: the bytes are read and hashed, piece by piece.

use crate::plan::Placing;
use cofferdam_sdk::{ErrorCode, ToolError};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};

/// A file is read in pieces of this size.
const PIECE_BYTES: usize = 64 << 10;

/// Whether this file is in place; `dir` is part of its path.
///
/// # Errors
/// `already_exists` for another content, `is_a_directory`, `not_a_regular_file` for anything else,
/// `path_denied` when a link is on the way.
pub(crate) fn is_there(dir: &str, placing: &Placing) -> Result<bool, ToolError> {
    let path = placing.path.as_str();
    no_link_on_the_way(dir)?;
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(ToolError::on_path(path)(error)),
    };
    let refused = |code, what| Err(ToolError::new(code, format!("{what}; nothing was written: {path}")));
    if found.is_dir() {
        return refused(ErrorCode::IsADirectory, "A directory has the name that the file would get");
    }
    if !found.is_file() {
        return refused(
            ErrorCode::NotARegularFile,
            "Something that is no regular file has the name that the file would get; remove it, or choose \
             another downloadDir",
        );
    }
    let info = &placing.source.info;
    if found.len() == info.size && hash(path)? == info.sha256 {
        return Ok(true);
    }
    refused(
        ErrorCode::AlreadyExists,
        "A file with other content has the name that the file would get; move it away, or choose another \
         downloadDir",
    )
}

/// Writing follows no link, so what lies behind one is not taken for written either.
fn no_link_on_the_way(dir: &str) -> Result<(), ToolError> {
    // The mount itself, the first component, is the host's.
    let ends = dir.match_indices('/').map(|(at, _)| at).skip(2).chain([dir.len()]);
    for part in ends.map(|end| &dir[..end]) {
        match fs::symlink_metadata(part) {
            Ok(found) if found.is_symlink() => {
                let said =
                    "A symbolic link is on the way, and writing never follows one; name the directory itself";
                return Err(ToolError::new(ErrorCode::PathDenied, format!("{said}: {part}")));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(ToolError::on_path(part)(error)),
        }
    }
    Ok(())
}

/// The SHA-256 of a file's bytes in lower-case hex.
fn hash(path: &str) -> Result<String, ToolError> {
    let failed = |error| ToolError::on_path(path)(error);
    let mut file = File::open(path).map_err(failed)?;
    let mut hasher = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece).map_err(failed)? {
            0 => break,
            n => hasher.update(&piece[..n]),
        }
    }
    Ok(format!("{:x}", hasher.finalize()))
}

#[cfg(test)]
mod tests;

//! Failures that a model or a person can act on: the contract's codes by name, and the codes and
//! advice for what `std::fs` and the host's streams report. It performs no I/O.

use std::io;

use crate::{ErrorCode, ToolError};

/// `ELOOP`, which `std` has no stable [`io::ErrorKind`] for: WASI numbers its errors by itself.
pub(crate) const ELOOP: i32 = if cfg!(target_family = "wasm") { 32 } else { 40 };

/// The codes, each with the one name that it has wherever it is written.
macro_rules! named_codes {
    ($($code:ident = $name:literal,)+) => {
        /// Every code a tool may answer with.
        pub const ALL: [Self; 13] = [$(Self::$code,)+];

        /// The code as it is written in JSON, the audit and replies, e.g. `not_found`.
        pub const fn name(self) -> &'static str {
            match self { $(Self::$code => $name,)+ }
        }
    };
}

impl ErrorCode {
    named_codes! {
        InvalidArguments = "invalid_arguments",
        NoAttachments = "no_attachments",
        IndexOutOfRange = "index_out_of_range",
        AttachmentUnavailable = "attachment_unavailable",
        PathDenied = "path_denied",
        AlreadyExists = "already_exists",
        NotFound = "not_found",
        NotARegularFile = "not_a_regular_file",
        IsADirectory = "is_a_directory",
        TooLarge = "too_large",
        QuotaExceeded = "quota_exceeded",
        NoSpace = "no_space",
        WriteFailed = "write_failed",
    }

    /// The code written as `name`, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }
}

impl ToolError {
    /// A failure with one or two plain sentences: what failed, on what, what to do instead. The
    /// host cuts the message at 2 KiB.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Turns what `std::fs`, a [`StagedFile`](crate::StagedFile) or an attachment reports about
    /// `path` into a failure: `File::open(&path).map_err(ToolError::on_path(&path))?`.
    pub fn on_path(path: &str) -> impl FnOnce(io::Error) -> Self {
        move |error| match error.downcast::<Self>() {
            Ok(said_by_host) => said_by_host,
            Err(error) => of_io(path, &error),
        }
    }

    /// What the host said when a stream broke: `CODE: message`, the rest of a debug rendering
    /// dropped. A reason without a code that a tool may use keeps its text under `otherwise`.
    pub fn from_reason(reason: &str, otherwise: ErrorCode) -> Self {
        let line = reason.lines().next().unwrap_or_default();
        let coded = line.split_once(": ").and_then(|(name, rest)| Some((ErrorCode::from_name(name)?, rest)));
        match coded {
            Some((code, message)) => Self::new(code, message),
            None => Self::new(otherwise, line),
        }
    }
}

/// Lets a failure travel through `std::io` traits; [`ToolError::on_path`] brings it back unchanged.
impl From<ToolError> for io::Error {
    fn from(error: ToolError) -> Self {
        Self::other(error)
    }
}

/// The path comes last in every message: a long one is cut by the host, the advice is not.
fn of_io(path: &str, error: &io::Error) -> ToolError {
    use io::ErrorKind as Kind;
    let (code, said) = match error.kind() {
        Kind::NotFound => (ErrorCode::NotFound, "Nothing is there"),
        Kind::NotADirectory => (ErrorCode::NotFound, "A part of the path is a file, not a directory"),
        Kind::IsADirectory => (ErrorCode::IsADirectory, "This is a directory; name a file in it"),
        // The host's answer for a FIFO, a device or a socket.
        Kind::Unsupported => {
            (ErrorCode::NotARegularFile, "This is not a regular file; only regular files are read")
        }
        Kind::PermissionDenied => (
            ErrorCode::PathDenied,
            "The path leads outside what this call may touch, or may not be changed this way",
        ),
        Kind::ReadOnlyFilesystem => {
            (ErrorCode::PathDenied, "Files are changed by staging them, not in place")
        }
        Kind::CrossesDevices => (ErrorCode::PathDenied, "The path leads to another mount"),
        Kind::InvalidFilename => {
            (ErrorCode::PathDenied, "A name is longer than 255 bytes, or the path is too long")
        }
        Kind::InvalidInput => {
            (ErrorCode::InvalidArguments, "The path or the position in it means nothing here")
        }
        Kind::AlreadyExists => (ErrorCode::AlreadyExists, "Something has this name; choose another"),
        Kind::StorageFull => (ErrorCode::NoSpace, "The disk is full"),
        Kind::QuotaExceeded => (ErrorCode::QuotaExceeded, "The quota is used up; remove something first"),
        Kind::FileTooLarge => (ErrorCode::TooLarge, "The file is too large"),
        _ if error.raw_os_error() == Some(ELOOP) => {
            (ErrorCode::PathDenied, "Symbolic links lead in a circle, or are not followed here")
        }
        // The contract has no code for a disk that fails while reading; the host, which reads for
        // this call, tells it as `read_failed`.
        _ => {
            return ToolError::new(
                ErrorCode::WriteFailed,
                format!("Input or output failed ({error}): {path}"),
            );
        }
    };
    ToolError::new(code, format!("{said}: {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: impl Into<io::Error>, code: ErrorCode) {
        let error = error.into();
        let shown = format!("{error:?}");
        let failure = ToolError::on_path("/shared/a")(error);
        assert_eq!(failure.code, code, "{shown}");
        assert!(failure.message.ends_with("/shared/a"), "{}", failure.message);
    }

    #[test]
    fn io_errors_become_codes_with_the_path() {
        check(io::ErrorKind::NotFound, ErrorCode::NotFound);
        check(io::ErrorKind::NotADirectory, ErrorCode::NotFound);
        check(io::ErrorKind::IsADirectory, ErrorCode::IsADirectory);
        check(io::ErrorKind::Unsupported, ErrorCode::NotARegularFile);
        check(io::ErrorKind::PermissionDenied, ErrorCode::PathDenied);
        check(io::ErrorKind::InvalidFilename, ErrorCode::PathDenied);
        check(io::Error::from_raw_os_error(ELOOP), ErrorCode::PathDenied);
        check(io::ErrorKind::StorageFull, ErrorCode::NoSpace);
        check(io::ErrorKind::FileTooLarge, ErrorCode::TooLarge);
        check(io::ErrorKind::UnexpectedEof, ErrorCode::WriteFailed);
    }

    #[test]
    fn a_failure_survives_std_io() {
        let error = io::Error::from(ToolError::new(ErrorCode::QuotaExceeded, "full"));
        let failure = ToolError::on_path("/shared/a")(error);
        assert_eq!((failure.code, failure.message.as_str()), (ErrorCode::QuotaExceeded, "full"));
    }

    #[test]
    fn a_reason_keeps_its_code() {
        let check = |reason: &str, code: ErrorCode, message: &str| {
            let failure = ToolError::from_reason(reason, ErrorCode::WriteFailed);
            assert_eq!((failure.code, failure.message.as_str()), (code, message));
        };
        check("quota_exceeded: 50 MiB a call", ErrorCode::QuotaExceeded, "50 MiB a call");
        check("no_space: full\n\nStack backtrace:\n 0: x", ErrorCode::NoSpace, "full");
        check("timed_out: no", ErrorCode::WriteFailed, "timed_out: no");
        check("no colon", ErrorCode::WriteFailed, "no colon");
        check("", ErrorCode::WriteFailed, "");
    }

    #[test]
    fn names_are_the_contracts_in_snake_case() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_name(code.name()), Some(code));
        }
        assert_eq!(ErrorCode::from_name("internal"), None);
    }
}

//! Why a configuration is refused.

/// Why a configuration is refused; the text says what to write.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {file}: {cause}; {}", read_remedy(cause))]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The file says something that is not understood.
    #[error("{file}:{line}: {problem}")]
    File {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// An environment variable says something that is not understood.
    #[error("{name}: {problem}")]
    Environment {
        /// The variable.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// A flag says something that is not understood.
    #[error("{name}: {problem}")]
    Flag {
        /// The flag.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// File and environment together do not make sense.
    #[error("{0}")]
    Invalid(String),
}

/// What helps where a file cannot be read.
fn read_remedy(cause: &std::io::Error) -> &'static str {
    match cause.kind() {
        std::io::ErrorKind::NotFound => "run `cofferdam init` to write one",
        std::io::ErrorKind::PermissionDenied => {
            "run this as the account that it belongs to, or let this one read it"
        }
        std::io::ErrorKind::InvalidData => "write it as UTF-8 text",
        _ => "name a regular file with --config",
    }
}

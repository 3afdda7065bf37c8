//! Why a configuration is refused.

/// Why a configuration is refused; the text says what to write.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}; {remedy}", remedy = read_remedy(.1))]
    Unreadable(String, std::io::Error),
    /// An environment variable says something that is not understood.
    #[error("{0}: {1}")]
    Environment(String, String),
    /// The file or a flag says something that is not understood, or all together make no sense.
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

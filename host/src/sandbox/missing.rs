//! Why the cache has no code of a component, as a worker tells the gateway too.

/// Why there is no code to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Missing {
    /// There is no entry.
    Absent,
    /// Others could have written it.
    Foreign,
    /// It is not what was written.
    Damaged,
}

impl Missing {
    /// Tells the operator what is not as it should be.
    pub(super) fn log(self, sha256: &str) {
        let component = &sha256[..12];
        match self {
            Self::Absent => {}
            Self::Foreign => {
                tracing::warn!(component, "not reading a cache entry that others could have written");
            }
            Self::Damaged => tracing::warn!(component, "recompiling a damaged cache entry"),
        }
    }
}

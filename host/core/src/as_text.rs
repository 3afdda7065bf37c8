//! What types have in common that are written as one text: they are shown as it, and serialized as
//! they are shown.

/// Shows types by the one text that each of them is.
macro_rules! shown_as_text {
    ($($kind:ident)+) => { $(
        impl $kind {
            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+ };
}
pub(crate) use shown_as_text;

/// Serializes types as they are shown.
macro_rules! serialized_as_shown {
    ($($kind:ident)+) => { $(
        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+ };
}
pub(crate) use serialized_as_shown;

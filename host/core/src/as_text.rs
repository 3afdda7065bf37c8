//! What types have in common that are written as one text: they are shown as it, and serialized as
//! they are shown; and enums whose variants are written as one word each.

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

/// An enum whose variants have one name each, wherever they are written.
macro_rules! named_variants {
    ($(#[$about:meta])* pub enum $kind:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$about])*
        pub enum $kind {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        impl $kind {
            /// Every one there is, in the order of the documents.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name, as it is written in JSON, policies and records.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}
pub(crate) use named_variants;

//! The words of policies as policy files write them, for messages and for lines to copy.

use super::approval::ApprovalCondition;
use super::words::{ArgumentClass, Imports, PathUse, Safety, UrlUse};
use cofferdam_core::capability::{Access, Interface, MountGrant};
use serde::Serialize;

/// A word that a policy file may hold.
pub trait Spelled {
    /// As it is written there: classes and mounts as a whole value, single words without their
    /// quotes.
    fn spell(&self) -> String;
}

impl Spelled for ArgumentClass {
    fn spell(&self) -> String {
        match self {
            Self::Value => "\"value\"".into(),
            Self::Content => "\"content\"".into(),
            Self::Recipient => "\"recipient\"".into(),
            Self::Path(how) => format!("{{ path = \"{}\" }}", how.spell()),
            Self::Url(how) => format!("{{ url = \"{}\" }}", how.spell()),
        }
    }
}

impl Spelled for MountGrant {
    fn spell(&self) -> String {
        format!("{{ guest = \"{}\", access = \"{}\" }}", self.guest, self.access.spell())
    }
}

impl Spelled for Imports {
    fn spell(&self) -> String {
        spell_word(self)
    }
}

impl Spelled for Access {
    fn spell(&self) -> String {
        spell_word(self)
    }
}

impl Spelled for Interface {
    fn spell(&self) -> String {
        spell_word(self)
    }
}

impl Spelled for Safety {
    fn spell(&self) -> String {
        spell_word(self)
    }
}

impl Spelled for PathUse {
    fn spell(&self) -> String {
        spell_word(self)
    }
}

impl Spelled for UrlUse {
    fn spell(&self) -> String {
        spell_word(self)
    }
}

impl Spelled for ApprovalCondition {
    fn spell(&self) -> String {
        spell_word(self)
    }
}

/// One word; its spelling is the one that is read.
pub fn spell_word<T: Serialize>(word: &T) -> String {
    serde_json::to_value(word).ok().and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
}

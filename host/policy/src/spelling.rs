//! The words of policies as policy files write them, for messages and for lines to copy.

use super::approval::ApprovalCondition;
use super::words::{ArgumentClass, Imports, PathUse, Safety, UrlUse};
use cofferdam_core::capability::{Access, Interface, MountGrant};
use serde::Serialize;

/// A word that a policy file may hold.
pub trait Spelled {
    /// As it is written there: classes and mounts as a whole value, single words without their
    /// quotes.
    fn spelled(&self) -> String;
}

impl Spelled for ArgumentClass {
    fn spelled(&self) -> String {
        match self {
            Self::Value => "\"value\"".into(),
            Self::Content => "\"content\"".into(),
            Self::Recipient => "\"recipient\"".into(),
            Self::Path(how) => format!("{{ path = \"{}\" }}", how.spelled()),
            Self::Url(how) => format!("{{ url = \"{}\" }}", how.spelled()),
        }
    }
}

impl Spelled for MountGrant {
    fn spelled(&self) -> String {
        format!("{{ guest = \"{}\", access = \"{}\" }}", self.guest, self.access.spelled())
    }
}

impl Spelled for Imports {
    fn spelled(&self) -> String {
        plain(self)
    }
}

impl Spelled for Access {
    fn spelled(&self) -> String {
        plain(self)
    }
}

impl Spelled for Interface {
    fn spelled(&self) -> String {
        plain(self)
    }
}

impl Spelled for Safety {
    fn spelled(&self) -> String {
        plain(self)
    }
}

impl Spelled for PathUse {
    fn spelled(&self) -> String {
        plain(self)
    }
}

impl Spelled for UrlUse {
    fn spelled(&self) -> String {
        plain(self)
    }
}

impl Spelled for ApprovalCondition {
    fn spelled(&self) -> String {
        plain(self)
    }
}

/// One word; its spelling is the one that is read.
pub fn plain<T: Serialize>(word: &T) -> String {
    serde_json::to_value(word).ok().and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
}

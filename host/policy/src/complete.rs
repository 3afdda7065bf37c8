//! What a policy adds to an argument before anybody looks at it: a path where none was given, and
//! the directory that a leading `~` stands for.
//!
//! It happens once, before schema, judge and guest: all three see the same whole path, and the
//! judge's parser stays the only one. A policy that does not ask for it gets none of it: there a
//! `~` is refused.

use super::classes::{ArgumentClass, PathUse};
use super::effective::ToolPolicy;
use cofferdam_core::capability::Grants;
use cofferdam_core::network::Address;
use cofferdam_core::path::GuestPath;
use serde::Serialize;
use serde_json::Value;

/// How one argument is completed:
/// `{ path = "write-below", default = "/shared/Downloads", home = "/shared" }`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Completion {
    /// Taken when the argument is absent or null. Of an address it is the only one that may be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The mount that `~` stands for, alone or before a `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
}

impl ToolPolicy {
    /// Completes the arguments of a call in place. Doing it twice changes nothing more.
    pub fn complete(&self, arguments: &mut Value) {
        let Value::Object(arguments) = arguments else { return };
        for (name, completion) in &self.completions {
            match (arguments.get_mut(name), &completion.default, &completion.home) {
                (None | Some(Value::Null), Some(default), _) => {
                    arguments.insert(name.clone(), Value::String(default.clone()));
                }
                (Some(Value::String(text)), _, Some(home)) => {
                    if let Some(rest) = text.strip_prefix('~').filter(|r| r.is_empty() || r.starts_with('/'))
                    {
                        *text = format!("{home}{rest}");
                    }
                }
                _ => {}
            }
        }
    }
}

impl Completion {
    /// As policies write it: `default = "/shared/Downloads", home = "/shared"`.
    pub fn spell(&self) -> String {
        let field =
            |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} = {value:?}"));
        let fields = [field("default", &self.default), field("home", &self.home)];
        fields.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Whether there is nothing to complete.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Why this completion of the argument at `at` could never do, with what to write instead.
    pub(super) fn problem(&self, at: &str, class: ArgumentClass, grants: &Grants) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        if at.contains(['.', '[']) {
            return Some(format!(
                "{at:?} is inside another argument, where nothing is completed; keep path alone"
            ));
        }
        let how = match class {
            ArgumentClass::Path(how) => how,
            ArgumentClass::Url(_) => return self.unreachable(grants),
            ArgumentClass::Value | ArgumentClass::Content | ArgumentClass::Recipient => return None,
        };
        if let Some(home) = &self.home {
            let mount = GuestPath::parse(home).ok().filter(GuestPath::is_mount);
            if mount.is_none_or(|mount| grants.access(mount.mount()).is_none()) {
                return Some(format!("home = {home:?} is no mount of the profile; write e.g. \"/shared\""));
            }
        }
        let default = self.default.as_ref()?;
        let path = match GuestPath::parse(default) {
            Ok(path) => path,
            Err(bad) => return Some(format!("default: {bad}")),
        };
        let Some(access) = grants.access(path.mount()) else {
            return Some(format!(
                "default = {default:?} is in no mount of the profile; choose one of its mounts"
            ));
        };
        match how {
            PathUse::Read if access.may_read() => None,
            PathUse::Read => {
                Some(format!("default = {default:?} is in a mount that may only be written; choose another"))
            }
            _ if !access.may_write() => {
                Some(format!("default = {default:?} is in a mount that may only be read; choose another"))
            }
            PathUse::Write if path.is_mount() => {
                Some(format!("default = {default:?} is a mount, not a file; name a file below it"))
            }
            PathUse::Write | PathUse::WriteBelow => None,
        }
    }

    /// Why the address that is filled in could never be asked. Where nobody can be asked the tool
    /// is off, with any value.
    fn unreachable(&self, grants: &Grants) -> Option<String> {
        let default = self.default.as_ref()?;
        let address: Address = match default.parse() {
            Ok(address) => address,
            Err(bad) => return Some(format!("default: {bad}")),
        };
        let network = grants.network.as_ref().filter(|network| !network.hosts.is_empty())?;
        (!network.allows(&address.host, address.port)).then(|| {
            let host = address.pattern();
            format!("default = {default:?} is at {host}, which the profile's network.hosts do not name; name it there")
        })
    }
}

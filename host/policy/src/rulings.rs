//! The ruling on each place of a call's arguments: its class, its path, and whether a person must
//! agree.
//!
//! It makes no permit; the judge does, from all of them.

use super::approval::Reason;
use super::classes::{ArgumentClass, PathUse};
use super::effective::{ToolPolicy, find_list};
use super::judge::{Cause, Denial};
use cofferdam_core::capability::{Access, MountGrant};
use cofferdam_core::id::Caller;
use cofferdam_core::network::Address;
use cofferdam_core::path::GuestPath;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ErrorCode;
use serde_json::Value;
use std::iter::successors;
use std::mem::discriminant;

/// What the judge says of one place that nothing is wrong with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ruling {
    /// The class of the place; none where no rule is needed.
    pub class: Option<ArgumentClass>,
    /// The path that stands there.
    pub path: Option<GuestPath>,
    /// Who is written to.
    pub recipient: Option<String>,
    /// The address that stands there.
    pub address: Option<Address>,
    /// Why what stands there must be approved.
    pub asks: Vec<Reason>,
}

/// Hands the ruling on each place of `arguments` to `visit`, in order, until it returns an error:
/// this is how [`judge`](super::judge()) decides, and how an explanation sees every place instead
/// of the first that is denied.
///
/// # Errors
/// What `visit` returned.
pub fn rulings(
    arguments: &Value,
    policy: &ToolPolicy,
    visit: impl FnMut(&str, Result<Ruling, Denial>) -> Result<(), Denial>,
) -> Result<(), Denial> {
    let mut walk = RulingWalk { policy, visit };
    let Value::Object(arguments) = arguments else {
        let reason = "the arguments are not a JSON object; give {\"name\": value, …}".into();
        let code = ErrorCode::InvalidArguments;
        return (walk.visit)("", Err(Denial { code, reason, cause: Cause::NotAnObject }));
    };
    arguments.iter().try_for_each(|(name, value)| walk.place(name, value))
}

struct RulingWalk<'a, V> {
    policy: &'a ToolPolicy,
    visit: V,
}

impl<V: FnMut(&str, Result<Ruling, Denial>) -> Result<(), Denial>> RulingWalk<'_, V> {
    fn place(&mut self, at: &str, value: &Value) -> Result<(), Denial> {
        let policy = self.policy;
        let class = policy.class(at);
        let plain = Ruling { class, ..Ruling::default() };
        let judged = match (class, value) {
            // Of the others, what is optional and was not given.
            (Some(ArgumentClass::Value | ArgumentClass::Content), _) | (Some(_), Value::Null) => Ok(plain),
            // One or a list of them, each place with a class of its own.
            (Some(class), Value::Array(items)) if self.lists(at, class, items) => {
                return self.judge_items(at, items);
            }
            (Some(ArgumentClass::Path(how)), Value::String(text)) => {
                path(policy, how, text).map(|path| Ruling { path: Some(path), ..plain })
            }
            (Some(ArgumentClass::Url(_)), Value::String(text)) => {
                address(policy, at, text).map(|address| Ruling { address: Some(address), ..plain })
            }
            (Some(ArgumentClass::Recipient), _) => {
                recipient(value).map(|to| Ruling { recipient: Some(to), ..plain })
            }
            (Some(ArgumentClass::Path(_) | ArgumentClass::Url(_)), _) | (None, Value::String(_)) => {
                Err(unclassified_denial(at))
            }
            (None, Value::Array(items)) => return self.judge_items(at, items),
            (None, Value::Object(fields)) => {
                return fields.iter().try_for_each(|(name, v)| self.place(&format!("{at}.{name}"), v));
            }
            (None, Value::Null | Value::Bool(_) | Value::Number(_)) => Ok(plain),
        };
        let ruling =
            judged.map(|ruling| Ruling { asks: approval_reasons(policy, at, value, &ruling), ..ruling });
        (self.visit)(at, ruling)?;
        match class {
            Some(ArgumentClass::Value | ArgumentClass::Content) => self.judge_within(at, value),
            _ => Ok(()),
        }
    }

    fn judge_items(&mut self, at: &str, items: &[Value]) -> Result<(), Denial> {
        let place = self.policy.item_places(at);
        let mut items = items.iter().enumerate();
        items.try_for_each(|(index, item)| self.place(&place(index), item))
    }

    /// Judges what has a class of its own within a value that has one: an argument that may be a
    /// text or an object has a class for the text, and one for each text in the object.
    fn judge_within(&mut self, at: &str, value: &Value) -> Result<(), Denial> {
        let policy = self.policy;
        if !policy.has_class_within(at) {
            return Ok(());
        }
        let mut judge = |at: &str, value: &Value| match policy.class(at) {
            Some(_) => self.place(at, value),
            None => self.judge_within(at, value),
        };
        match value {
            Value::Array(items) => {
                let place = policy.item_places(at);
                items.iter().enumerate().try_for_each(|(index, item)| judge(&place(index), item))
            }
            Value::Object(fields) => {
                fields.iter().try_for_each(|(name, field)| judge(&format!("{at}.{name}"), field))
            }
            _ => Ok(()),
        }
    }

    /// Whether what is in a list at this place is classified as the list is, for any use; also each
    /// of these items that has a place of its own.
    fn lists(&self, at: &str, class: ArgumentClass, items: &[Value]) -> bool {
        let is_alike = |at: &str| {
            let inner = self.policy.class(at);
            inner.is_some_and(|inner| discriminant(&inner) == discriminant(&class))
        };
        let place = self.policy.item_places(at);
        is_alike(&format!("{at}[]")) && (0..items.len()).all(|index| is_alike(&place(index)))
    }
}

/// The address that a text is, if the profile names its host, and the policy gives no other one.
fn address(policy: &ToolPolicy, at: &str, text: &str) -> Result<Address, Denial> {
    let denied = |cause, reason: String| Denial { code: ErrorCode::NetworkDenied, reason, cause };
    let address: Address = text.parse().map_err(|bad| denied(Cause::BadAddress(bad), bad.to_string()))?;
    // Also of each one, where it is given as a list.
    let argument = successors(Some(at), |&at| find_list(at)).last().unwrap_or(at);
    let given = policy.completions.get(argument).and_then(|completion| completion.default.as_deref());
    if given.is_some_and(|given| given != text) {
        let reason =
            format!("the policy of {} gives the address of {argument}; leave {argument} out", policy.tool);
        return Err(denied(Cause::AddressGiven, reason));
    }
    let network = policy.grants.network.as_ref();
    if network.is_some_and(|network| network.allows(&address.host, address.port)) {
        return Ok(address);
    }
    let (shown, host, profile) = (address.redacted(), address.pattern(), &policy.profile);
    let hosts = network.map(|network| network.hosts.as_slice()).unwrap_or_default();
    let line = super::grant::hosts_line(hosts, &host);
    // Nobody means the port of plain http who names a host alone.
    let plain = if address.https { "" } else { "; or write https://" };
    let file = &policy.origins.mounts.file;
    let reason = format!(
        "{shown} is at {host}, which is not among the hosts of profile {profile}; to allow it write in {file}: {line}{plain}"
    );
    Err(denied(Cause::HostNotGranted { host }, reason))
}

/// Somebody who is written to.
fn recipient(value: &Value) -> Result<String, Denial> {
    let to = value.as_str().filter(|to| Caller::parse(to).is_some());
    to.map(str::to_owned).ok_or_else(|| {
        let shown = one_line(&value.to_string(), 80);
        let reason =
            format!("{shown} is nobody; write CHANNEL:USER with the person's id, e.g. telegram:1002");
        Denial { code: ErrorCode::RecipientDenied, reason, cause: Cause::BadRecipient }
    })
}

/// Why what stands at a place must be approved. What is null or false was as good as not given.
fn approval_reasons(policy: &ToolPolicy, at: &str, value: &Value, ruling: &Ruling) -> Vec<Reason> {
    match (ruling.class, &ruling.path, &ruling.recipient) {
        (Some(ArgumentClass::Path(how)), Some(path), _) => policy.approval.path_reasons(at, how, path),
        (_, _, Some(to)) => policy.approval.recipient_reasons(at, to),
        (Some(_), ..) if !matches!(value, Value::Null | Value::Bool(false)) => {
            policy.approval.value_reasons(at)
        }
        _ => Vec::new(),
    }
}

fn path(policy: &ToolPolicy, how: PathUse, text: &str) -> Result<GuestPath, Denial> {
    let denied = |cause, reason: String| Denial { code: ErrorCode::PathDenied, reason, cause };
    let path = GuestPath::parse(text).map_err(|bad| denied(Cause::BadPath(bad.clone()), bad.to_string()))?;
    let shown = one_line(text, 200);
    let profile = &policy.profile;
    let mount = || path.mount().to_owned();
    let access = policy.grants.access(path.mount()).ok_or_else(|| {
        let usable = mounts(policy, how);
        let reason = format!("{shown} is not in a mount of profile {profile}; use {usable}");
        denied(Cause::NotGranted { mount: mount(), how }, reason)
    })?;
    if how == PathUse::Read {
        if access.may_read() {
            return Ok(path);
        }
        let usable = mounts(policy, how);
        let reason = format!(
            "{} is write-only under profile {profile}; read from {usable}{}",
            path.mount(),
            grant_line(policy, &path)
        );
        return Err(denied(Cause::WriteOnlyMount { mount: mount() }, reason));
    }
    if !access.may_write() {
        let usable = mounts(policy, how);
        let line = if access.may_open() { String::new() } else { grant_line(policy, &path) };
        let reason =
            format!("{} is read-only under profile {profile}; write to {usable}{line}", path.mount());
        return Err(denied(Cause::ReadOnlyMount { mount: mount() }, reason));
    }
    if how == PathUse::Write && path.is_mount() {
        let reason = format!("{shown} is a mount, not a file; name a file below it, e.g. {shown}/file");
        return Err(denied(Cause::MountItself, reason));
    }
    Ok(path)
}

/// The mounts that `how` could use, for a message that says what to do.
fn mounts(policy: &ToolPolicy, how: PathUse) -> String {
    let usable: Vec<_> = policy
        .grants
        .mounts
        .iter()
        .filter(|m| if how == PathUse::Read { m.access.may_read() } else { m.access.may_write() })
        .map(|m| format!("{}/…", m.guest))
        .collect();
    if usable.is_empty() { "another tool: none is granted".into() } else { usable.join(" or ") }
}

/// The line that would grant the mount of `path` in full, where a profile grants a part of it.
fn grant_line(policy: &ToolPolicy, path: &GuestPath) -> String {
    let mount = MountGrant { guest: path.mount().to_owned(), access: Access::AtomicWrite };
    let file = &policy.origins.mounts.file;
    format!("; to allow it write in {file}: {}", mount.spell())
}

fn unclassified_denial(at: &str) -> Denial {
    Denial {
        code: ErrorCode::InvalidArguments,
        reason: format!("the policy does not classify argument {:?}; remove it", one_line(at, 80)),
        cause: Cause::Unclassified,
    }
}

//! The judge: one call, one effective policy, one verdict.
//!
//! The only place where a [`Permit`] comes into being. It does no I/O: facts that need the disk are
//! settled where the disk is, by code that can only refuse more.

use super::effective::ToolPolicy;
use super::path::GuestPath;
use super::words::{ArgumentClass, PathUse, Safety};
use crate::capability::{Access, Grants};
use crate::id::CallId;
use crate::limits::Limits;
use crate::text::one_line;
use crate::tool::{ErrorCode, ToolError, ToolName};
use serde_json::Value;

/// A call that wants to be judged; its arguments have passed the tool's schema.
#[derive(Clone, Debug)]
pub struct Call {
    /// The key under which the call is idempotent.
    pub id: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The arguments, a JSON object.
    pub arguments: Value,
}

/// What follows for a call. A refusal is not an error: it is an answer.
#[must_use]
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a permit is moved once, and boxing it would cost every call")]
pub enum Verdict {
    /// The call may run, within what the permit carries.
    Permit(Permit),
    /// The call may not run.
    Deny(Denial),
}

/// Why a call may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// For programs.
    pub code: ErrorCode,
    /// What was refused and what to do instead; one line, virtual paths only.
    pub reason: String,
}

impl From<Denial> for ToolError {
    fn from(denial: Denial) -> Self {
        ToolError::new(denial.code, denial.reason)
    }
}

/// The only key to the sandbox: a judged call with its restrictions.
///
/// Built by [`judge`] alone, consumed by running it, never cloned and never deserialized.
#[derive(Debug)]
pub struct Permit {
    call: Call,
    profile: String,
    grants: Grants,
    limits: Limits,
    safety: Safety,
    writes: Vec<GuestPath>,
    writes_below: Vec<GuestPath>,
}

impl Permit {
    /// The judged call.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The profile it was judged under.
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// Mounts and interfaces within reach.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The limits of the call.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether the call may change anything.
    pub fn safety(&self) -> Safety {
        self.safety
    }

    /// Whether this very path was judged for writing.
    pub fn may_stage(&self, path: &GuestPath) -> bool {
        self.writes.contains(path) || self.writes_below.iter().any(|dir| path.is_below(dir))
    }
}

/// The verdict on `call` under `policy`.
///
/// Fails closed: a string that no rule classifies, a path that does not parse, a mount that is not
/// granted or not granted for this use, and a write by a read-only tool are each denied.
pub fn judge(mut call: Call, policy: &ToolPolicy) -> Verdict {
    debug_assert_eq!(call.tool, policy.tool, "a call is judged by its own tool's policy");
    policy.complete(&mut call.arguments);
    let mut found = Found { policy, writes: Vec::new(), writes_below: Vec::new() };
    let Value::Object(arguments) = &call.arguments else {
        return deny(
            ErrorCode::InvalidArguments,
            "the arguments are not a JSON object; give {\"name\": value, …}",
        );
    };
    for (name, value) in arguments {
        if let Err(denial) = found.walk(name, value) {
            return Verdict::Deny(denial);
        }
    }
    let Found { writes, writes_below, .. } = found;
    Verdict::Permit(Permit {
        profile: policy.profile.clone(),
        grants: policy.grants.clone(),
        limits: policy.limits,
        safety: policy.safety,
        writes,
        writes_below,
        call,
    })
}

fn deny(code: ErrorCode, reason: impl Into<String>) -> Verdict {
    Verdict::Deny(Denial { code, reason: reason.into() })
}

struct Found<'a> {
    policy: &'a ToolPolicy,
    writes: Vec<GuestPath>,
    writes_below: Vec<GuestPath>,
}

impl Found<'_> {
    fn walk(&mut self, at: &str, value: &Value) -> Result<(), Denial> {
        match (self.policy.class(at), value) {
            (Some(ArgumentClass::Value | ArgumentClass::Content), _) => Ok(()),
            // An optional path that was not given.
            (Some(ArgumentClass::Path(_)), Value::Null) => Ok(()),
            (Some(ArgumentClass::Path(how)), Value::String(text)) => self.path(how, text),
            (Some(ArgumentClass::Path(_)), _) => Err(unclassified(at)),
            (None, Value::String(_)) => Err(unclassified(at)),
            (None, Value::Array(items)) => {
                let at = format!("{at}[]");
                items.iter().try_for_each(|item| self.walk(&at, item))
            }
            (None, Value::Object(fields)) => {
                fields.iter().try_for_each(|(name, v)| self.walk(&format!("{at}.{name}"), v))
            }
            (None, Value::Null | Value::Bool(_) | Value::Number(_)) => Ok(()),
        }
    }

    fn path(&mut self, how: PathUse, text: &str) -> Result<(), Denial> {
        let denied = |reason: String| Denial { code: ErrorCode::PathDenied, reason };
        let path = GuestPath::parse(text).map_err(|bad| denied(bad.to_string()))?;
        let shown = one_line(text, 200);
        let profile = &self.policy.profile;
        let access = self.policy.grants.access(path.mount()).ok_or_else(|| {
            denied(format!("{shown} is not in a mount of profile {profile}; use {}", self.mounts(how)))
        })?;
        if how == PathUse::Read {
            return Ok(());
        }
        if access != Access::AtomicWrite {
            return Err(denied(format!(
                "{} is read-only under profile {profile}; write to {}",
                path.mount(),
                self.mounts(how)
            )));
        }
        if how == PathUse::WriteBelow {
            self.writes_below.push(path);
            return Ok(());
        }
        if path.is_mount() {
            return Err(denied(format!(
                "{shown} is a mount, not a file; name a file below it, e.g. {shown}/file"
            )));
        }
        self.writes.push(path);
        Ok(())
    }

    /// The mounts that `how` could use, for a message that says what to do.
    fn mounts(&self, how: PathUse) -> String {
        let usable: Vec<_> = self
            .policy
            .grants
            .mounts
            .iter()
            .filter(|m| how == PathUse::Read || m.access == Access::AtomicWrite)
            .map(|m| format!("{}/…", m.guest))
            .collect();
        if usable.is_empty() { "another tool: none is granted".into() } else { usable.join(" or ") }
    }
}

fn unclassified(at: &str) -> Denial {
    Denial {
        code: ErrorCode::InvalidArguments,
        reason: format!("the policy does not classify argument {:?}; remove it", one_line(at, 80)),
    }
}

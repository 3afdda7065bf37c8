//! Which records a reviewer asks for. Every condition that is set must hold.
//!
//! A record that a condition does not apply to does not match it: a recovery has no sender, and an
//! intent has no verdict.

use super::PathPattern;
use cofferdam_core::audit::{AuditEvent, Effect, NetworkRequest, Record, VerdictKind, Workflow};
use cofferdam_core::id::SessionId;
use cofferdam_core::tool::ErrorCode;
use cofferdam_warden::audit::RecordFilter;
use jiff::Timestamp;
use serde_json::Value;

/// Conditions on a record; the default asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Not before this time.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub before: Option<Timestamp>,
    /// Of this tool.
    pub tool: Option<String>,
    /// Of this sender, by the channel's id.
    pub sender: Option<String>,
    /// From this channel.
    pub channel: Option<String>,
    /// Of this session.
    pub session: Option<String>,
    /// With this verdict.
    pub verdict: Option<VerdictKind>,
    /// Refused or failed with this code.
    pub code: Option<ErrorCode>,
    /// Of this call.
    pub call: Option<String>,
    /// That changed such a path, or had it among the arguments.
    pub path: Option<PathPattern>,
}

impl Filter {
    /// What a log is read with: nothing where it asks for nothing, so that every line is an entry.
    pub fn to_predicate(self) -> Option<RecordFilter> {
        if self.is_empty() { None } else { Some(Box::new(move |record| self.matches(record))) }
    }

    /// Whether it asks for nothing, so that every record matches.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether every condition holds.
    pub fn matches(&self, record: &Record) -> bool {
        self.matches_time(&record.time) && self.matches_event(&record.event)
    }

    fn matches_time(&self, time: &str) -> bool {
        if self.since.is_none() && self.before.is_none() {
            return true;
        }
        time.parse::<Timestamp>().is_ok_and(|time| {
            self.since.is_none_or(|since| time >= since) && self.before.is_none_or(|before| time < before)
        })
    }

    fn matches_event(&self, event: &AuditEvent) -> bool {
        let (facts, files) = match event {
            AuditEvent::Intent(intent) => (&intent.facts, intent.files.as_slice()),
            AuditEvent::Outcome(outcome) => (&outcome.facts, outcome.files.as_slice()),
            AuditEvent::Approval(approval) => (&approval.facts, &[][..]),
            AuditEvent::Message(message) => (&message.facts, message.files.as_slice()),
            AuditEvent::Reload(_) | AuditEvent::Heads { .. } | AuditEvent::Recovered(_) => {
                let timeless = Self { since: None, before: None, ..self.clone() };
                return timeless.is_empty();
            }
            AuditEvent::Access { person, .. } => {
                return self.is_about_people() && self.matches_person(&person.channel, &person.sender);
            }
            // Who began the run or had it end.
            AuditEvent::Workflow(Workflow { by, .. }) => {
                let by = by.as_deref().and_then(|by| by.split_once(':'));
                let (channel, sender) = by.unwrap_or_default();
                return self.is_about_people() && self.matches_person(channel, sender);
            }
            AuditEvent::Network(request) => return self.matches_network(request),
        };
        let (verdict, code) = match event {
            AuditEvent::Outcome(outcome) => (Some(outcome.verdict), outcome.code),
            _ => (None, None),
        };
        is(&self.tool, &facts.tool)
            && self.matches_person(&facts.caller.channel, &facts.caller.sender)
            && is(&self.call, facts.call.as_str())
            && (self.session.is_none()
                || self.session.as_deref() == facts.session.as_ref().map(SessionId::as_str))
            && (self.verdict.is_none() || self.verdict == verdict)
            && (self.code.is_none() || self.code == code)
            && self.path.as_ref().is_none_or(|path| {
                files.iter().any(|effect| matches_effect(path, effect))
                    || matches_arguments(path, &facts.arguments)
            })
    }

    /// It is about a call, and has neither verdict nor paths.
    fn matches_network(&self, request: &NetworkRequest) -> bool {
        is(&self.tool, &request.tool)
            && self.matches_person(&request.caller.channel, &request.caller.sender)
            && is(&self.call, request.call.as_str())
            && (self.code.is_none() || self.code == request.code)
            && self.session.is_none()
            && self.verdict.is_none()
            && self.path.is_none()
    }

    fn matches_person(&self, channel: &str, sender: &str) -> bool {
        is(&self.channel, channel) && is(&self.sender, sender)
    }

    /// Whether it asks for nothing but times and people: then what is about no call may match.
    fn is_about_people(&self) -> bool {
        Self { since: None, before: None, sender: None, channel: None, ..self.clone() }.is_empty()
    }
}

fn is(wanted: &Option<String>, there: &str) -> bool {
    wanted.as_deref().is_none_or(|wanted| wanted == there)
}

fn matches_effect(pattern: &PathPattern, effect: &Effect) -> bool {
    let from = match effect {
        Effect::Moved { moved_from, .. } => Some(moved_from.as_str()),
        Effect::Written(_) | Effect::Removed { .. } | Effect::Attached { .. } => None,
    };
    effect.path().into_iter().chain(from).any(|path| pattern.matches(path))
}

/// Only what looks like a virtual path is one; arguments are redacted and bounded already.
fn matches_arguments(pattern: &PathPattern, arguments: &Value) -> bool {
    match arguments {
        Value::String(text) => text.starts_with('/') && pattern.matches(text),
        Value::Array(items) => items.iter().any(|item| matches_arguments(pattern, item)),
        Value::Object(fields) => fields.values().any(|field| matches_arguments(pattern, field)),
        _ => false,
    }
}

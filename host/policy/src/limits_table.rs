//! `[limits]` of a policy file: each at most the profile's, and where it is written.

use super::origin::SourceLocation;
use super::source::{PolicyProblem, PolicySource};
use cofferdam_core::limits::{ByteSize, Limits, TimeSpan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsTable {
    memory: Option<Spanned<ByteSize>>,
    deadline: Option<Spanned<TimeSpan>>,
    written_bytes: Option<Spanned<ByteSize>>,
    changes: Option<Spanned<u32>>,
    arguments: Option<Spanned<ByteSize>>,
    result: Option<Spanned<ByteSize>>,
}

impl LimitsTable {
    /// Where each limit that is written here stands.
    pub(super) fn places(&self, source: &PolicySource<'_>) -> BTreeMap<&'static str, SourceLocation> {
        let Self { memory, deadline, written_bytes, changes, arguments, result } = self;
        let sizes = [
            ("memory", memory),
            ("written_bytes", written_bytes),
            ("arguments", arguments),
            ("result", result),
        ];
        let sizes = sizes.into_iter().filter_map(|(name, at)| Some((name, source.place(at.as_ref()?))));
        let deadline = deadline.iter().map(|at| ("deadline", source.place(at)));
        let changes = changes.iter().map(|at| ("changes", source.place(at)));
        sizes.chain(deadline).chain(changes).collect()
    }

    /// The limits written here, each at most `ceiling`'s and at least that of [`Limits::LEAST`];
    /// those not written are the smaller of the default and the ceiling, or the ceiling itself
    /// where `unset` says so.
    pub(super) fn to_limits(
        &self,
        ceiling: &Limits,
        unset: &Limits,
        owner: &str,
        source: &PolicySource<'_>,
    ) -> Result<Limits, PolicyProblem> {
        fn pick<T: Copy + Ord + fmt::Display + Serialize>(
            name: &str,
            written: &Option<Spanned<T>>,
            [least, ceiling, unset]: [T; 3],
            owner: &str,
            source: &PolicySource<'_>,
        ) -> Result<T, PolicyProblem> {
            let Some(value) = written else { return Ok(unset.min(ceiling)) };
            let limit = *value.get_ref();
            let problem = if limit > ceiling {
                format!("is above {owner}'s {ceiling}; write at most {}", as_written(&ceiling))
            } else if limit < least {
                format!("lets no call succeed; write at least {}", as_written(&least))
            } else {
                return Ok(limit);
            };
            Err(source.problem_at(value.span().start, &format!("{name} = {} {problem}", as_written(&limit))))
        }
        fn as_written(amount: &impl Serialize) -> String {
            toml::Value::try_from(amount).map(|value| value.to_string()).unwrap_or_default()
        }
        let bounds = [&Limits::LEAST, ceiling, unset];
        let [memory, written_bytes, arguments, result] = [
            ("memory", &self.memory, bounds.map(|limits| limits.memory)),
            ("written_bytes", &self.written_bytes, bounds.map(|limits| limits.written_bytes)),
            ("arguments", &self.arguments, bounds.map(|limits| limits.arguments)),
            ("result", &self.result, bounds.map(|limits| limits.result)),
        ]
        .map(|(name, written, bounds)| pick(name, written, bounds, owner, source));
        let deadlines = bounds.map(|limits| limits.deadline);
        let changes = bounds.map(|limits| limits.changes);
        Ok(Limits {
            memory: memory?,
            deadline: pick("deadline", &self.deadline, deadlines, owner, source)?,
            written_bytes: written_bytes?,
            changes: pick("changes", &self.changes, changes, owner, source)?,
            arguments: arguments?,
            result: result?,
        })
    }
}

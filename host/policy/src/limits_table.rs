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

    /// The limits written here, each at most `ceiling`'s; those not written are the smaller of the
    /// default and the ceiling, or the ceiling itself where `unset` says so.
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
            ceiling: T,
            unset: T,
            owner: &str,
            source: &PolicySource<'_>,
        ) -> Result<T, PolicyProblem> {
            match written {
                None => Ok(unset.min(ceiling)),
                Some(value) if *value.get_ref() <= ceiling => Ok(*value.get_ref()),
                Some(value) => Err(source.problem_at(
                    value.span().start,
                    &format!(
                        "{name} = {} is above {owner}'s {ceiling}; write at most {}",
                        as_written(value.get_ref()),
                        as_written(&ceiling)
                    ),
                )),
            }
        }
        fn as_written(amount: &impl Serialize) -> String {
            toml::Value::try_from(amount).map(|value| value.to_string()).unwrap_or_default()
        }
        Ok(Limits {
            memory: pick("memory", &self.memory, ceiling.memory, unset.memory, owner, source)?,
            deadline: pick("deadline", &self.deadline, ceiling.deadline, unset.deadline, owner, source)?,
            written_bytes: pick(
                "written_bytes",
                &self.written_bytes,
                ceiling.written_bytes,
                unset.written_bytes,
                owner,
                source,
            )?,
            changes: pick("changes", &self.changes, ceiling.changes, unset.changes, owner, source)?,
            arguments: pick("arguments", &self.arguments, ceiling.arguments, unset.arguments, owner, source)?,
            result: pick("result", &self.result, ceiling.result, unset.result, owner, source)?,
        })
    }
}

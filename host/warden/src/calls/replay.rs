//! A call that is asked for once more, because a crash ended its turn: answered as it was answered,
//! finished where the crash cut its plan off, or refused with what is done and what is not.
//!
//! The audit alone says what was planned and what happened. The guest runs again only to bring the
//! bytes that are missing: what it plans must be the rest of that very plan, or nothing more is
//! changed.

use super::record::CallRecord;
use super::unwritten::{audit_error, journal_error};
use super::{Parts, Warden};
use crate::audit::LandedCall;
use crate::publish::{PlannedChange, describe_effects, first_of};
use cofferdam_core::audit::{Effect, VerdictKind};
use cofferdam_core::journal::{Journal, JournalState};
use cofferdam_core::tool::{ErrorCode, ToolAnswer, ToolError};
use cofferdam_policy::GuestPath;
use std::collections::HashSet;
use std::ops::ControlFlow::{self, Break, Continue};

/// What an earlier run of a call, which a crash cut off, and the earlier calls of its turn have
/// left.
#[derive(Debug, Default)]
pub struct EarlierRun {
    pub(super) earlier: Option<JournalState>,
    pub(super) cut: Option<InterruptedPlan>,
}

impl EarlierRun {
    /// What to answer where the call can go no further, if an earlier run of it has done a part.
    pub fn unfinished_error(&self, why: &str) -> Option<ToolError> {
        self.cut.as_ref().map(|cut| cut.unfinished_error(why))
    }
}

/// A plan whose first steps happened before a crash.
#[derive(Debug, PartialEq)]
pub(super) struct InterruptedPlan {
    /// What the call answers when the rest is done.
    pub(super) answer: ToolAnswer,
    /// The steps that happened.
    pub(super) done: Vec<Effect>,
    /// Those that did not, in order.
    rest: Vec<Effect>,
}

impl Warden {
    /// What a call is to know of an earlier run of it, and of the earlier calls of its turn.
    /// Breaks with its answer where it has happened: `deliver` hands its files to the request that
    /// it names.
    ///
    /// # Errors
    /// What to answer: the journal or the audit cannot be read, it failed then, or it cannot be
    /// finished.
    pub fn resume(
        &self,
        record: &mut CallRecord,
        journal: Option<&dyn Journal>,
        deliver: impl Fn(&ToolAnswer) -> Result<(), ToolError>,
    ) -> Result<ControlFlow<ToolAnswer, EarlierRun>, ToolError> {
        let facts = &record.facts;
        let read = journal.map(|journal| journal.load_earlier(facts.call.as_str(), &facts.arguments_sha256));
        let earlier = read
            .transpose()
            .map_err(|e| journal_error("the journal cannot be read, so nothing was changed", &e))?;
        let Some(answer) = earlier.as_ref().and_then(|earlier| earlier.answer.clone()) else {
            return Ok(Continue(EarlierRun { earlier, cut: None }));
        };
        let Parts { audit, outgoing, .. } = &self.parts;
        let (planned, done) = match audit.find_landed(&facts.call).map_err(audit_error)? {
            None => return Ok(Continue(EarlierRun { earlier, cut: None })),
            Some(LandedCall::All(files)) if outgoing.adopt(&facts.turn, &answer.attachments) => {
                deliver(&answer)?;
                record.files = files;
                record.verdict = VerdictKind::Permit;
                return Ok(Break(answer));
            }
            // The bytes for its reply are gone: only the guest can bring them again.
            Some(LandedCall::All(files)) => (files.clone(), files),
            Some(LandedCall::Part { planned, done }) => (planned, done),
            Some(LandedCall::Failed { error, done }) => {
                record.files = done;
                return Err(error);
            }
        };
        let (planned, done) = (changes(planned), changes(done));
        if done.is_empty() {
            return Ok(Continue(EarlierRun { earlier, cut: None }));
        }
        record.files = done.clone();
        let cut = InterruptedPlan::from_answer(answer, planned, done)?;
        Ok(Continue(EarlierRun { earlier, cut: Some(cut) }))
    }
}

/// Without what goes out with a reply: the run that answers adds that.
fn changes(mut effects: Vec<Effect>) -> Vec<Effect> {
    effects.retain(|effect| !matches!(effect, Effect::Attached { .. }));
    effects
}

impl InterruptedPlan {
    /// # Errors
    /// When what is found on disk is not the beginning of the plan.
    fn from_answer(
        answer: ToolAnswer,
        mut planned: Vec<Effect>,
        done: Vec<Effect>,
    ) -> Result<Self, ToolError> {
        if planned.starts_with(&done) {
            let rest = planned.split_off(done.len());
            return Ok(Self { answer, done, rest });
        }
        let mut cut = Self { answer, done, rest: planned };
        let happened: HashSet<&Effect> = cut.done.iter().collect();
        cut.rest.retain(|effect| !happened.contains(effect));
        Err(cut.unfinished_error("others have changed the same paths since"))
    }

    /// The files that are there because of the earlier run.
    pub(super) fn made(&self) -> Vec<GuestPath> {
        let written = |effect: &Effect| match effect {
            Effect::Written(file) => GuestPath::parse(&file.path).ok(),
            _ => None,
        };
        self.done.iter().filter_map(written).collect()
    }

    /// Of what the guest plans now, the steps that are still to be carried out: exactly those that
    /// are missing.
    ///
    /// # Errors
    /// When the guest answers or plans anything else; nothing more is to be changed then.
    pub(super) fn rest_of(
        &self,
        answer: &ToolAnswer,
        plan: Vec<PlannedChange>,
    ) -> Result<Vec<PlannedChange>, ToolError> {
        let done: HashSet<&Effect> = self.done.iter().collect();
        let rest: Vec<PlannedChange> =
            plan.into_iter().filter(|step| !done.contains(&step.effect())).collect();
        let same_files =
            (&answer.attachments, &answer.delivery) == (&self.answer.attachments, &self.answer.delivery);
        if same_files && rest.iter().map(PlannedChange::effect).eq(self.rest.iter().cloned()) {
            return Ok(rest);
        }
        Err(self.unfinished_error("run again, the tool wants other changes than before"))
    }

    /// The call cannot be finished; the error says where it stands.
    pub(super) fn unfinished_error(&self, why: &str) -> ToolError {
        let paths: Vec<_> = self.rest.iter().filter_map(Effect::path).collect();
        let rest = if paths.is_empty() {
            String::new()
        } else {
            format!("; not done: {}", first_of(&paths, |path| (*path).to_owned()))
        };
        let said = format!(
            "the gateway stopped while it made the changes of this call, and cannot finish them ({why}); done before \
             that: {}{rest}. Look at these paths, and ask for what is missing",
            describe_effects(&self.done)
        );
        ToolError::new(ErrorCode::WriteFailed, said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::audit::{EntryKind, FileFacts};
    use serde_json::json;

    fn effect(spelled: &str) -> Effect {
        let path = format!("/shared/{}", &spelled[1..]);
        match &spelled[..1] {
            "+" => Effect::Written(FileFacts { path, bytes: 1, sha256: "s".into() }),
            "-" => Effect::Removed { path, removed: EntryKind::File, entries: 1 },
            _ => Effect::Attached { path: Some(path), attached: "a".into(), bytes: 1, sha256: "s".into() },
        }
    }

    fn effects(spelled: &str) -> Vec<Effect> {
        spelled.split_whitespace().map(effect).collect()
    }

    /// What is left of a plan, or the words for one that nobody can go on with.
    fn check(planned: &str, done: &str, rest: Result<&str, &str>) {
        let answer = ToolAnswer { result: json!({}), attachments: Vec::new(), delivery: None };
        match (InterruptedPlan::from_answer(answer, changes(effects(planned)), changes(effects(done))), rest)
        {
            (Ok(cut), Ok(rest)) => assert_eq!(cut.rest, effects(rest), "{planned} after {done}"),
            (Err(error), Err(part)) => {
                assert_eq!(error.code, ErrorCode::WriteFailed);
                assert!(error.message.contains(part), "{planned} after {done}: {error}");
            }
            (found, expected) => panic!("{planned} after {done}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn only_the_beginning_of_a_plan_can_be_gone_on_with() {
        check("+a +b +c", "", Ok("+a +b +c"));
        check("+a +b +c", "+a", Ok("+b +c"));
        check("+a -b", "+a", Ok("-b"));
        check("+a -b", "+a -b", Ok(""));
        // What is attached is not of the plan's order.
        check("+a +b =c", "+a =c", Ok("+b"));
        check("+a =c", "=c", Ok("+a"));
        check(
            "+a +b +c",
            "+a +c",
            Err("done before that: saved /shared/a, saved /shared/c; not done: /shared/b."),
        );
        check("+a +b", "+b", Err("done before that: saved /shared/b; not done: /shared/a."));
        check("-a +a", "+a", Err("others have changed the same paths since"));
    }
}

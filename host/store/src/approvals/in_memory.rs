//! Approvals that last as long as a program: those of a chat in a terminal. It grows by what a
//! person there answers.

use super::{ApprovalRow, ApprovalState, ApprovedPaths, NewApproval};
use crate::{ApprovalStore, StoreError, now_ms};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was asked and decided; never fails.
#[derive(Debug, Default)]
pub struct ApprovalsInMemory(Mutex<HeldApprovals>);

#[derive(Debug, Default)]
struct HeldApprovals {
    /// Each with its call and the SHA-256 that names it.
    asked: Vec<(String, String, ApprovalRow)>,
    /// The channel of each, for as long as its message may show choices.
    choices: BTreeMap<String, String>,
    /// Each with when it was approved.
    paths: Vec<(ApprovedPaths, String, i64)>,
}

impl ApprovalsInMemory {
    /// Forgets what was over before this, in milliseconds since 1970 UTC.
    pub fn prune(&self, before: i64) {
        let mut held = self.lock();
        held.paths.retain(|(_, _, at)| *at >= before);
        held.asked.retain(|(_, _, approval)| approval.expires_at >= before);
    }

    fn lock(&self) -> MutexGuard<'_, HeldApprovals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldApprovals {
    fn find(&mut self, id: &str) -> Option<&mut ApprovalRow> {
        self.asked.iter_mut().map(|(_, _, approval)| approval).find(|approval| approval.id == id)
    }
}

#[async_trait]
impl ApprovalStore for ApprovalsInMemory {
    async fn ask(&self, new: NewApproval) -> Result<(ApprovalRow, Vec<ApprovalRow>), StoreError> {
        let NewApproval { id, channel, call, sha256, place, expires_at } = new;
        let (message, decided_by) = (None, None);
        let mut mine =
            ApprovalRow { id, place, message, state: ApprovalState::Asked, decided_by, expires_at };
        let (mut known, mut others) = (false, Vec::new());
        let mut held = self.lock();
        for (_, named, approval) in held.asked.iter_mut().filter(|(of, ..)| *of == call) {
            if *named == sha256 {
                (known, mine) = (true, approval.clone());
            } else if approval.state == ApprovalState::Asked {
                approval.state = ApprovalState::Withdrawn;
                others.push(approval.clone());
            }
        }
        if !known {
            held.choices.insert(mine.id.clone(), channel);
            held.asked.push((call, sha256, mine.clone()));
        }
        Ok((mine, others))
    }

    async fn mark_approval_shown(&self, id: &str, message: &str) -> Result<(), StoreError> {
        if let Some(approval) = self.lock().find(id) {
            approval.message = Some(message.to_owned());
        }
        Ok(())
    }

    async fn approval(&self, id: &str) -> Result<Option<ApprovalRow>, StoreError> {
        Ok(self.lock().find(id).cloned())
    }

    async fn decide(
        &self,
        id: &str,
        state: ApprovalState,
        by: Option<String>,
    ) -> Result<Option<ApprovalRow>, StoreError> {
        let mut held = self.lock();
        Ok(held.find(id).map(|approval| {
            if approval.state == ApprovalState::Asked {
                let late = approval.expires_at <= now_ms();
                (approval.state, approval.decided_by) =
                    if late { (ApprovalState::Expired, None) } else { (state, by) };
            }
            approval.clone()
        }))
    }

    async fn open_choices(&self, channel: &str) -> Result<Vec<ApprovalRow>, StoreError> {
        let held = self.lock();
        let is_open = |approval: &&ApprovalRow| {
            approval.state != ApprovalState::Asked
                && approval.message.is_some()
                && held.choices.get(&approval.id).is_some_and(|of| of == channel)
        };
        Ok(held.asked.iter().map(|(_, _, approval)| approval).filter(is_open).cloned().collect())
    }

    async fn mark_choices_gone(&self, id: &str) -> Result<(), StoreError> {
        self.lock().choices.remove(id);
        Ok(())
    }

    async fn remember_paths(&self, of: ApprovedPaths, paths: Vec<String>) -> Result<(), StoreError> {
        self.lock().paths.extend(paths.into_iter().map(|path| (of.clone(), path, now_ms())));
        Ok(())
    }

    fn approved_paths(&self, of: &ApprovedPaths, paths: &[String]) -> Result<Vec<String>, StoreError> {
        let held = self.lock();
        let known = |path: &&String| held.paths.iter().any(|(whose, known, _)| whose == of && known == *path);
        Ok(paths.iter().filter(known).cloned().collect())
    }
}

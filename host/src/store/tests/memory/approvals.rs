//! Approvals in memory.

use super::*;

#[async_trait]
impl Approvals for Memory {
    async fn ask(&self, new: NewApproval) -> Result<(Approval, Vec<Approval>), StoreError> {
        let mut held = self.held();
        if !held.approvals.iter().any(|(call, sha256, _)| (call, sha256) == (&new.call, &new.sha256)) {
            let (message, decided_by) = (None, None);
            let (id, place, expires_at) = (new.id, new.place, new.expires_at);
            let approval =
                Approval { id, place, message, state: ApprovalState::Asked, decided_by, expires_at };
            held.approvals.push((new.call.clone(), new.sha256.clone(), approval));
        }
        let (mut mine, mut others) = (None, Vec::new());
        for (call, sha256, approval) in &mut held.approvals {
            if *call == new.call && *sha256 == new.sha256 {
                mine = Some(approval.clone());
            } else if *call == new.call && approval.state == ApprovalState::Asked {
                approval.state = ApprovalState::Withdrawn;
                others.push(approval.clone());
            }
        }
        Ok((mine.expect("just made"), others))
    }

    async fn approval_shown(&self, id: &str, message: &str) -> Result<(), StoreError> {
        for (_, _, approval) in self.held().approvals.iter_mut().filter(|(_, _, approval)| approval.id == id)
        {
            approval.message = Some(message.to_owned());
        }
        Ok(())
    }

    async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        let held = self.held();
        Ok(held.approvals.iter().map(|(_, _, approval)| approval).find(|approval| approval.id == id).cloned())
    }

    async fn decide(
        &self,
        id: &str,
        state: ApprovalState,
        by: Option<String>,
    ) -> Result<Option<Approval>, StoreError> {
        let mut held = self.held();
        let found =
            held.approvals.iter_mut().map(|(_, _, approval)| approval).find(|approval| approval.id == id);
        Ok(found.map(|approval| {
            if approval.state == ApprovalState::Asked {
                let late = approval.expires_at <= now_ms();
                (approval.state, approval.decided_by) =
                    if late { (ApprovalState::Expired, None) } else { (state, by) };
            }
            approval.clone()
        }))
    }

    async fn remember_paths(&self, of: ApprovedPaths, paths: Vec<String>) -> Result<(), StoreError> {
        self.held().paths.extend(paths.into_iter().map(|path| (of.clone(), path, now_ms())));
        Ok(())
    }

    fn approved_paths(&self, of: &ApprovedPaths, paths: &[String]) -> Result<Vec<String>, StoreError> {
        let held = self.held();
        let known = |path: &&String| held.paths.iter().any(|(whose, known, _)| whose == of && known == *path);
        Ok(paths.iter().filter(known).cloned().collect())
    }
}

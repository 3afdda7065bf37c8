//! Approvals in memory are those of a chat in a terminal, held to the seam like an engine's.

use super::*;

impl Memory {
    fn approvals(&self) -> Arc<ApprovalsInMemory> {
        self.held().approvals.clone()
    }
}

#[async_trait]
impl ApprovalStore for Memory {
    async fn ask(&self, new: NewApproval) -> Result<(ApprovalRow, Vec<ApprovalRow>), StoreError> {
        self.approvals().ask(new).await
    }

    async fn mark_approval_shown(&self, id: &str, message: &str) -> Result<(), StoreError> {
        self.approvals().mark_approval_shown(id, message).await
    }

    async fn approval(&self, id: &str) -> Result<Option<ApprovalRow>, StoreError> {
        self.approvals().approval(id).await
    }

    async fn decide(
        &self,
        id: &str,
        state: ApprovalState,
        by: Option<String>,
    ) -> Result<Option<ApprovalRow>, StoreError> {
        self.approvals().decide(id, state, by).await
    }

    async fn open_choices(&self, channel: &str) -> Result<Vec<ApprovalRow>, StoreError> {
        self.approvals().open_choices(channel).await
    }

    async fn mark_choices_gone(&self, id: &str) -> Result<(), StoreError> {
        self.approvals().mark_choices_gone(id).await
    }

    async fn remember_paths(&self, of: ApprovedPaths, paths: Vec<String>) -> Result<(), StoreError> {
        self.approvals().remember_paths(of, paths).await
    }

    fn approved_paths(&self, of: &ApprovedPaths, paths: &[String]) -> Result<Vec<String>, StoreError> {
        self.approvals().approved_paths(of, paths)
    }
}

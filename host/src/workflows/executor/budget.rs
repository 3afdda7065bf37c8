//! What tasks write counts on the day of the one who began the run, as what their turns write does.

use super::{Executor, PreparedRun};
use cofferdam_agent::turn::{Tools, words};
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::{StoreError, now_ms};

impl Executor {
    /// Why a call that may write is refused today.
    pub(super) async fn over_budget(
        &self,
        run: &PreparedRun,
        tool: &str,
    ) -> Result<Option<ToolError>, StoreError> {
        if self.toolbox.is_read_only(tool) {
            return Ok(None);
        }
        let budget = self.turns.user_written_bytes_per_day;
        let used = self.store.load_usage(&run.by, now_ms()).await?;
        let is_spent = used.written_bytes >= budget.0;
        Ok(is_spent.then(|| ToolError::new(ErrorCode::QuotaExceeded, words::no_bytes_today(budget))))
    }
}

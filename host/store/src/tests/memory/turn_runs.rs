//! Runs that a turn begins. What is to be kept of them is tried with the engine alone: this one has
//! none of it.

use super::*;

fn none<T>() -> Result<T, StoreError> {
    Err(StoreError::Corrupt("runs of turns".into()))
}

#[async_trait]
impl TurnRunStore for Memory {
    async fn keep_direct(&self, _: NewDirect) -> Result<Option<StoredReply>, StoreError> {
        none()
    }

    async fn begin_turn_run(&self, _: NewRun, _: TurnId, _: u32) -> Result<bool, StoreError> {
        none()
    }

    async fn keep_turn_message(&self, _: &str, _: NewMessage) -> Result<Option<StoredReply>, StoreError> {
        none()
    }

    async fn end_turn_task(&self, _: &str, _: &str, _: RunEnd) -> Result<(), StoreError> {
        none()
    }

    async fn wait_in_turn(&self, _: NewTurnWait, _: i64) -> Result<TurnWaited, StoreError> {
        none()
    }

    async fn due_waits(&self, _: i64, _: i64) -> Result<Vec<DueWait>, StoreError> {
        none()
    }

    async fn go_on(&self, _: GoingOn) -> Result<bool, StoreError> {
        none()
    }

    async fn end_idle_turn_runs(&self, _: i64) -> Result<Vec<String>, StoreError> {
        none()
    }
}

//! What is heard and spoken, in memory.

use super::*;

#[async_trait]
impl VoiceStore for Memory {
    async fn transcript(&self, turn: &TurnId) -> Result<Option<String>, StoreError> {
        let held = self.held();
        let is_begun = held.attempts.contains_key(turn.as_str());
        Ok(held.transcripts.get(turn.as_str()).filter(|_| is_begun).cloned())
    }

    async fn keep_transcript(&self, turn: &TurnId, text: &str) -> Result<(), StoreError> {
        let mut held = self.held();
        if held.attempts.contains_key(turn.as_str()) {
            held.transcripts.entry(turn.to_string()).or_insert_with(|| text.to_owned());
        }
        Ok(())
    }

    async fn is_spoken_to(&self, session: &SessionId, sender: &str) -> Result<bool, StoreError> {
        Ok(self.held().spoken_to.contains(&(session.to_string(), sender.to_owned())))
    }

    async fn set_spoken_to(&self, session: &SessionId, sender: &str, is_on: bool) -> Result<(), StoreError> {
        let key = (session.to_string(), sender.to_owned());
        let mut held = self.held();
        match is_on {
            true => held.spoken_to.insert(key),
            false => held.spoken_to.remove(&key),
        };
        Ok(())
    }
}

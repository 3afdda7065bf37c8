//! Replies in memory.

use super::*;

#[async_trait]
impl ReplyStore for Memory {
    async fn end_noting(
        &self,
        channel: &str,
        turn: &TurnId,
        reply: NewReply,
        files: Option<NewRecent>,
    ) -> Result<StoredReply, StoreError> {
        let mut held = self.held();
        let was_open = held.done(turn.as_str()) > 0;
        if let Some(files) = files.filter(|_| was_open) {
            let key = [channel.to_owned(), files.conversation.clone(), files.sender.clone()];
            if held.recent.get(&key).is_none_or(|(_, _, by)| by != turn.as_str()) {
                held.note(channel, turn.as_str(), files);
            }
        }
        Ok(held.reply(channel, turn, reply))
    }

    async fn tell_noting(
        &self,
        channel: &str,
        telling: NewTelling,
    ) -> Result<Option<StoredReply>, StoreError> {
        let mut held = self.held();
        let NewTelling { turn, reply, files, place } = telling;
        if held.replies.iter().any(|stored| stored.reply.turn == turn) {
            return Ok(None);
        }
        if let Some(place) = place {
            held.said_in(channel, place);
        }
        held.blobs.extend(files.iter().map(|file| (turn.to_string(), file.sha256.clone())));
        Ok(Some(held.reply(channel, &turn, reply)))
    }

    async fn load_unsent(&self, channel: &str) -> Result<Vec<StoredReply>, StoreError> {
        let held = self.held();
        let open = held.replies.iter().filter(|stored| stored.channel == channel && !stored.done);
        Ok(open.map(|stored| stored.reply.clone()).collect())
    }

    async fn mark_part_sent(&self, turn: &TurnId, n: u32, message: &str) -> Result<(), StoreError> {
        self.held().settle(turn, n, Some(message));
        Ok(())
    }

    async fn mark_part_failed(
        &self,
        turn: &TurnId,
        n: u32,
        _: &str,
        instead: Vec<NewPart>,
    ) -> Result<Vec<ReplyPart>, StoreError> {
        let mut held = self.held();
        let Some(stored) = held.replies.iter_mut().find(|stored| stored.reply.turn == *turn) else {
            return Err(StoreError::Corrupt(format!("no reply of turn {turn}")));
        };
        let numbered =
            (stored.next..).zip(instead).map(|(n, NewPart { kind, body })| ReplyPart { n, kind, body });
        let added: Vec<ReplyPart> = numbered.collect();
        stored.next += u32::try_from(added.len()).expect("few");
        stored.reply.parts.extend(added.clone());
        held.settle(turn, n, None);
        Ok(added)
    }
}

#[async_trait]
impl PlaceholderStore for Memory {
    async fn placeholder(&self, turn: &TurnId) -> Result<Option<Placeholder>, StoreError> {
        Ok(self.held().placeholders.get(turn.as_str()).cloned())
    }

    async fn mark_placeholder_begun(&self, turn: &TurnId) -> Result<(), StoreError> {
        self.held().placeholders.entry(turn.to_string()).or_insert(Placeholder::Unknown);
        Ok(())
    }

    async fn mark_placeholder_sent(&self, turn: &TurnId, message: &str) -> Result<(), StoreError> {
        if let Some(placeholder) = self.held().placeholders.get_mut(turn.as_str()) {
            *placeholder = Placeholder::Sent(message.to_owned());
        }
        Ok(())
    }
}

#[async_trait]
impl RecentStore for Memory {
    async fn recent(
        &self,
        channel: &str,
        conversation: &str,
        sender: &str,
    ) -> Result<Option<RecentFiles>, StoreError> {
        let key = [channel, conversation, sender].map(str::to_owned);
        Ok(self.held().recent.get(&key).map(|(recent, _, _)| recent.clone()))
    }
}

#[async_trait]
impl DeliveryStore for Memory {
    async fn files_handed_over(&self, request: &TurnId) -> Result<Vec<OutgoingAttachment>, StoreError> {
        let held = self.held();
        let to = held.deliveries.iter().filter(|(_, delivery, _)| delivery.request == *request);
        Ok(to.flat_map(|(_, delivery, _)| delivery.attachments.clone()).collect())
    }
}

#[async_trait]
impl BlobRefStore for Memory {
    async fn hold(&self, holder: &BlobHolder, files: &[OutgoingAttachment]) -> Result<(), StoreError> {
        self.held().hold(&key(holder), files);
        Ok(())
    }

    async fn let_go(&self, holder: &BlobHolder) -> Result<(), StoreError> {
        self.held().release(&key(holder));
        Ok(())
    }

    fn blobs_in_use(&self) -> Result<BTreeSet<String>, StoreError> {
        Ok(self.held().blobs.iter().map(|(_, sha256)| sha256.clone()).collect())
    }
}

pub(super) fn key(holder: &BlobHolder) -> String {
    match holder {
        BlobHolder::Turn(turn) => turn.to_string(),
        BlobHolder::Retry(session) => format!("retry of {session}"),
    }
}

//! Messages in memory.

use super::*;

#[async_trait]
impl InboxStore for Memory {
    async fn persist(&self, channel: &str, updates: Vec<NewUpdate>) -> Result<PersistResult, StoreError> {
        let (mut held, mut persisted) = (self.held(), PersistResult::default());
        for new in updates {
            match &new.fate {
                UpdateFate::Pending(headers) => {
                    let request = held.head(headers);
                    let known = |row: &Row| row.channel == channel && row.update.update_id == new.update_id;
                    if !held.inbox.iter().any(known) && held.resolve(channel, headers, new.album.as_deref()) {
                        if let Some(row) = held.insert(channel, &new) {
                            (row.done_at, row.update.raw) = (Some(now_ms()), String::new());
                        }
                        continue;
                    }
                    if let Some(row) = held.insert(channel, &new) {
                        (row.headers, row.request) = (Some(headers.clone()), request);
                        persisted.pending.push(row.update.clone());
                    }
                }
                UpdateFate::Edited => {
                    let Some(row) = held.insert(channel, &new) else { continue };
                    (row.done_at, row.message) = (Some(now_ms()), None);
                    row.update.raw.clear();
                    let of = |row: &&mut Row| row.channel == channel && row.message == new.message;
                    for row in held.inbox.iter_mut().filter(of).filter(|row| row.waits()) {
                        row.update.raw.clone_from(&new.raw);
                    }
                }
                UpdateFate::Deleted => {
                    let gone =
                        |row: &&mut Row| row.waits() && row.channel == channel && row.message == new.message;
                    for row in held.inbox.iter_mut().filter(gone) {
                        (row.done_at, row.update.raw) = (Some(now_ms()), String::new());
                    }
                }
                UpdateFate::Ignored => {
                    if let Some(row) = held.insert(channel, &new) {
                        (row.done_at, row.update.raw) = (Some(now_ms()), String::new());
                    }
                }
                UpdateFate::Stranger(stranger) => {
                    let turn = TurnId::new(format!("{channel}-{}", new.update_id));
                    let Some(row) = held.insert(channel, &new) else { continue };
                    (row.done_at, row.turn) = (Some(now_ms()), Some(turn.to_string()));
                    row.update.raw.clear();
                    let hour_ago = now_ms() - HOUR_MS;
                    let told = held.strangers.iter().filter(|told| told.0 == channel && told.2 > hour_ago);
                    let many = told.count() >= STRANGERS_TOLD_PER_HOUR_MAX as usize;
                    let of = |told: &(String, String, i64, u32)| {
                        (told.0.as_str(), &told.1) == (channel, &stranger.sender)
                    };
                    let known = held.strangers.iter().find(|told| of(told)).map(|told| (told.2, told.3));
                    let (at, times) = known.unwrap_or((i64::MIN, 0));
                    if !many && at < stranger.since && times < STRANGER_TOLD_MAX {
                        held.strangers.retain(|told| !of(told));
                        let told = (channel.to_owned(), stranger.sender.clone(), now_ms(), times + 1);
                        held.strangers.push(told);
                        let reply = held.reply(channel, &turn, stranger.reply.clone());
                        persisted.replies.push(reply);
                    }
                }
            }
        }
        Ok(persisted)
    }

    async fn pending(
        &self,
        channel: &str,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Update>, StoreError> {
        let held = self.held();
        let is_after = |row: &Row| row.channel == channel && Some(row.update.update_id) == after;
        let first = held.inbox.iter().position(is_after).map_or(0, |at| at + 1);
        let waiting = held.inbox[first..].iter().filter(|row| row.channel == channel && row.waits());
        Ok(waiting.map(|row| row.update.clone()).take(limit as usize).collect())
    }

    async fn claim(&self, channel: &str, claim: UpdateClaim) -> Result<Option<BoundTurn>, StoreError> {
        let mut held = self.held();
        let meant = |row: &Row| {
            row.channel == channel
                && match &claim {
                    UpdateClaim::Update(id) => row.waits() && row.update.update_id == *id,
                    UpdateClaim::Album(album) => row.turn.is_none() && row.album.as_ref() == Some(album),
                }
        };
        if !held.inbox.iter().any(|row| meant(row) && row.waits()) {
            return Ok(None);
        }
        let first = held.inbox.iter().find(|row| meant(row)).map_or(0, |row| row.update.update_id);
        let turn = format!("{channel}-{first}");
        for row in held.inbox.iter_mut().filter(|row| meant(row)) {
            (row.turn, row.done_at) = (Some(turn.clone()), None);
        }
        Ok(Some(held.bound(channel, &turn)))
    }

    async fn bound(&self, channel: &str) -> Result<Vec<BoundTurn>, StoreError> {
        let held = self.held();
        let mut turns: Vec<&String> = Vec::new();
        for row in held.inbox.iter().filter(|row| row.channel == channel && row.done_at.is_none()) {
            turns.extend(row.turn.as_ref().filter(|turn| !turns.contains(turn)));
        }
        Ok(turns.into_iter().map(|turn| held.bound(channel, turn)).collect())
    }

    async fn album(&self, channel: &str, album: &str) -> Result<Vec<AlbumPart>, StoreError> {
        let held = self.held();
        let parts =
            held.inbox.iter().filter(|row| row.channel == channel && row.album.as_deref() == Some(album));
        let part = |row: &Row| AlbumPart {
            update: row.update.clone(),
            turn: row.turn.clone().map(TurnId::new),
            received_at: row.received_at,
        };
        Ok(parts.map(part).collect())
    }

    async fn dismiss(&self, turn: &TurnId) -> Result<(), StoreError> {
        let mut held = self.held();
        held.done(turn.as_str());
        held.release(turn.as_str());
        for row in held.inbox.iter_mut().filter(|row| row.turn.as_deref() == Some(turn.as_str())) {
            row.turn = None;
        }
        Ok(())
    }

    async fn count_told(&self, channel: &str, sender: &str) -> Result<u32, StoreError> {
        let held = self.held();
        let told = held.strangers.iter().find(|told| told.0 == channel && told.1 == sender);
        Ok(told.map_or(0, |told| told.3))
    }
}

#[async_trait]
impl BacklogStore for Memory {
    async fn sessions(&self, channel: &str, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        let (held, mut sessions) = (self.held(), Vec::new());
        for row in held.inbox.iter().filter(|row| row.channel == channel && row.waits()) {
            let session = row.headers.as_ref().map(|headers| headers.session.clone());
            sessions.extend(session.filter(|session| !sessions.contains(session)));
        }
        sessions.truncate(limit as usize);
        Ok(sessions)
    }

    async fn load_waiting(
        &self,
        channel: &str,
        session: &SessionId,
        limit: u32,
    ) -> Result<Vec<QueuedUpdate>, StoreError> {
        let held = self.held();
        let of = |row: &&Row| {
            let headers = row.headers.as_ref();
            row.channel == channel && row.waits() && headers.is_some_and(|of| of.session == *session)
        };
        let queued = |row: &Row| QueuedUpdate { update_id: row.update.update_id, album: row.album.clone() };
        Ok(held.inbox.iter().filter(of).map(queued).take(limit as usize).collect())
    }

    async fn count_waiting(
        &self,
        channel: &str,
        session: &SessionId,
        besides: Option<i64>,
    ) -> Result<usize, StoreError> {
        let mut waiting = self.load_waiting(channel, session, u32::MAX).await?;
        waiting.retain(|queued| Some(queued.update_id) != besides);
        let albums: BTreeSet<_> = waiting.iter().filter_map(|queued| queued.album.as_ref()).collect();
        Ok(albums.len() + waiting.iter().filter(|queued| queued.album.is_none()).count())
    }
}

#[async_trait]
impl SteerStore for Memory {
    async fn take_up(
        &self,
        whose: &WhoseTurn,
        n: usize,
        body: String,
        taking: &TakeUpRequest,
    ) -> Result<TakeUpResult, StoreError> {
        let mut held = self.held();
        let meant =
            |row: &Row| row.channel == taking.channel && taking.updates.contains(&row.update.update_id);
        if held.inbox.iter().filter(|row| meant(row) && row.waits()).count() != taking.updates.len() {
            return Ok(TakeUpResult::Gone);
        }
        for row in held.inbox.iter_mut().filter(|row| meant(row)) {
            (row.turn, row.joined) = (Some(whose.turn.to_string()), Some(n));
        }
        if let Some(files) = taking.noting.clone() {
            held.note(&taking.channel, whose.turn.as_str(), files);
        }
        held.add_line(whose, n, body, 0);
        Ok(TakeUpResult::Yes)
    }

    async fn load_steers(&self, channel: &str, turn: &TurnId) -> Result<Vec<SteerUpdate>, StoreError> {
        let held = self.held();
        let to = |row: &Row| {
            let request = row.request.map(|at| &held.inbox[at]);
            request.is_some_and(|at| at.is_of(channel, turn.as_str()) && at.joined.is_none())
        };
        let waiting = held.inbox.iter().filter(|row| row.channel == channel && row.waits() && to(row));
        Ok(waiting.map(|row| SteerUpdate { update: row.update.clone(), album: row.album.clone() }).collect())
    }

    async fn load_taken_up(&self, channel: &str, turn: &TurnId) -> Result<Vec<Vec<Update>>, StoreError> {
        let held = self.held();
        let mut messages: BTreeMap<usize, Vec<Update>> = BTreeMap::new();
        for row in held.inbox.iter().filter(|row| row.is_of(channel, turn.as_str())) {
            if let Some(n) = row.joined {
                messages.entry(n).or_default().push(row.update.clone());
            }
        }
        Ok(messages.into_values().collect())
    }
}

#[async_trait]
impl AttemptStore for Memory {
    async fn attempt(&self, turn: &TurnId, caller: &Caller) -> Result<u32, StoreError> {
        let mut held = self.held();
        let fresh = || (caller.clone(), 0, AttemptRow { at: 0, spent: 0 });
        let (_, count, begun) = held.attempts.entry(turn.to_string()).or_insert_with(fresh);
        if *count == 0 {
            begun.at = now_ms();
        }
        *count += 1;
        Ok(*count)
    }

    async fn withdraw_attempt(&self, turn: &TurnId) -> Result<(), StoreError> {
        if let Some((_, count, _)) = self.held().attempts.get_mut(turn.as_str()) {
            *count = count.saturating_sub(1);
        }
        Ok(())
    }

    async fn load_attempt(&self, turn: &TurnId) -> Result<Option<AttemptRow>, StoreError> {
        Ok(self.held().attempts.get(turn.as_str()).map(|(.., begun)| *begun))
    }

    async fn spend(&self, whose: &WhoseTurn, tokens: u64) -> Result<(), StoreError> {
        let mut held = self.held();
        if let Some((.., begun)) = held.attempts.get_mut(whose.turn.as_str()) {
            begun.spent += tokens;
        }
        held.charge(&whose.caller, tokens, 0);
        Ok(())
    }
}

#[async_trait]
impl MoveStore for Memory {
    async fn note_move(&self, channel: &str, place: String, goes_on: String) -> Result<(), StoreError> {
        self.held().moves.insert((channel.to_owned(), place), goes_on);
        Ok(())
    }

    async fn load_moves(&self, channel: &str) -> Result<Vec<(String, String)>, StoreError> {
        let held = self.held();
        let of = held.moves.iter().filter(|((of, _), _)| of == channel);
        Ok(of.map(|((_, place), goes_on)| (place.clone(), goes_on.clone())).collect())
    }
}

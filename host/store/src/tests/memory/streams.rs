//! Streams and places.

use super::*;

#[async_trait]
impl StreamStore for Memory {
    async fn persist_at(
        &self,
        channel: &str,
        updates: Vec<NewUpdate>,
        position: StreamPosition,
        places: Vec<ReplyPlace>,
    ) -> Result<PersistResult, StoreError> {
        let persisted = self.persist(channel, updates).await?;
        let mut held = self.held();
        held.moves_to(channel, position);
        places.into_iter().for_each(|place| held.said_in(channel, place));
        Ok(persisted)
    }

    async fn stream(&self, channel: &str) -> Result<Option<Stream>, StoreError> {
        Ok(self.held().streams.get(channel).cloned())
    }

    async fn begin_stream(&self, channel: &str, position: StreamPosition) -> Result<(), StoreError> {
        self.held().streams.insert(channel.to_owned(), Stream { position, behind: true });
        Ok(())
    }

    async fn advance_stream(&self, channel: &str, position: StreamPosition) -> Result<(), StoreError> {
        self.held().moves_to(channel, position);
        Ok(())
    }

    async fn places(&self, channel: &str) -> Result<Vec<ReplyPlace>, StoreError> {
        let held = self.held();
        let here = held.places.iter().rev().filter(|(of, _)| of == channel);
        Ok(here.map(|(_, place)| place.clone()).collect())
    }

    async fn mark_caught_up(
        &self,
        channel: &str,
        session: &str,
        places: Vec<ReplyPlace>,
    ) -> Result<(), StoreError> {
        let mut held = self.held();
        let stream = held.streams.get_mut(channel).filter(|stream| stream.position.session == session);
        if let Some(stream) = stream {
            stream.behind = false;
            places.into_iter().for_each(|place| held.said_in(channel, place));
        }
        Ok(())
    }
}

impl Held {
    fn moves_to(&mut self, channel: &str, position: StreamPosition) {
        let same = |stream: &&mut Stream| {
            stream.position.session == position.session && stream.position.number <= position.number
        };
        if let Some(stream) = self.streams.get_mut(channel).filter(same) {
            stream.position = position;
        }
    }

    pub(super) fn said_in(&mut self, channel: &str, place: ReplyPlace) {
        let behind = self.streams.get(channel).is_some_and(|stream| stream.behind);
        let known = self.places.iter().position(|(of, known)| of == channel && known.place == place.place);
        let before = known.map(|at| self.places.remove(at).1.last);
        let last = match before {
            Some(before) if behind => before,
            Some(before) => before.max(place.last),
            None => place.last,
        };
        self.places.push((channel.to_owned(), ReplyPlace { last, ..place }));
        if self.places.len() > PLACES_MAX as usize {
            self.places.remove(0);
        }
    }
}

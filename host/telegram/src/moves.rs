//! Groups that became supergroups: the same place under a new id. What was kept under the old id,
//! its home, goes on being used; what is sent goes to the new one.

use super::bot::TelegramBot;
use cofferdam_core::lock::lock;
use cofferdam_store::{MOVES_MAX, StoreError};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The old and the new id of each group that moved, as many as the store remembers. It happens to a
/// group once. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves(Arc<Mutex<KnownMoves>>);

#[derive(Debug, Default)]
struct KnownMoves {
    pairs: VecDeque<(i64, i64)>,
    /// The store's mark when they were read from it: another one has more to read.
    mark: (i64, i64),
}

impl Moves {
    /// Those that the store knows of.
    pub(super) fn new(pairs: Vec<(String, String)>) -> Self {
        let moves = Self::default();
        moves.read(pairs, (0, 0));
        moves
    }

    /// Has those that the store knows of take the place of the others.
    fn read(&self, pairs: Vec<(String, String)>, mark: (i64, i64)) {
        let pair = |(from, to): (String, String)| Some((from.parse().ok()?, to.parse().ok()?));
        let pairs = pairs.into_iter().filter_map(pair).collect();
        *lock(&self.0) = KnownMoves { pairs, mark };
    }

    /// The id under which a chat was first known: what is kept of it is kept under this one.
    pub(super) fn home(&self, chat: i64) -> i64 {
        lock(&self.0).pairs.iter().find(|(_, to)| *to == chat).map_or(chat, |(from, _)| *from)
    }

    /// The id under which a chat can be reached.
    pub(super) fn current_id(&self, chat: i64) -> i64 {
        lock(&self.0).pairs.iter().find(|(from, _)| *from == chat).map_or(chat, |(_, to)| *to)
    }

    fn note(&self, from: i64, to: i64) {
        let mut known = lock(&self.0);
        known.pairs.retain(|(other, _)| *other != from);
        known.pairs.push_back((from, to));
        if known.pairs.len() > MOVES_MAX as usize {
            known.pairs.pop_front();
        }
    }
}

impl TelegramBot {
    /// Learns of those that other nodes have noted. Costs one small look where there are none.
    pub(super) async fn learn_moves(&self) -> Result<(), StoreError> {
        let base = &self.base;
        let mark = base.store.moves_mark(&base.channel).await?;
        if lock(&self.moves.0).mark != mark {
            // One that is noted in between is learned with the next look.
            self.moves.read(base.store.load_moves(&base.channel).await?, mark);
        }
        Ok(())
    }

    /// Notes that a group lives on under another id, durably; `None` once the bot stops.
    pub(super) async fn moved(&self, from: i64, to: i64) -> Option<()> {
        let is_group = from < 0 && to < 0 && from != to;
        if !is_group || self.moves.current_id(from) == to {
            return Some(());
        }
        let base = &self.base;
        let note = || base.store.note_move(&base.channel, from.to_string(), to.to_string());
        base.store_until_done("note that a group moved", note).await?;
        self.moves.note(from, to);
        tracing::info!(from, to, "a group became a supergroup and goes on under its new id");
        // Who waits for an approval there shows it again, where it can be pressed.
        base.approvals.look_again();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_moved_is_one_place() {
        let moves = Moves::new(vec![("-5".into(), "-1005".into()), ("x".into(), "-1".into())]);
        assert_eq!((moves.home(-1005), moves.home(-5), moves.home(-7)), (-5, -5, -7));
        assert_eq!((moves.current_id(-1005), moves.current_id(-5), moves.current_id(-7)), (-1005, -1005, -7));
        moves.note(-7, -1007);
        assert_eq!((moves.clone().home(-1007), moves.current_id(-7)), (-7, -1007));
        let clone = moves.clone();
        moves.read(vec![("-8".into(), "-1008".into())], (1, 5));
        assert_eq!((clone.home(-1008), clone.home(-1007)), (-8, -1007), "others have noted it");
    }

    #[test]
    fn as_many_are_known_as_are_remembered() {
        let moves = Moves::default();
        for from in 1..=i64::from(MOVES_MAX) + 2 {
            moves.note(-from, -from - 1_000_000);
        }
        moves.note(-3, -2_000_003);
        assert_eq!(lock(&moves.0).pairs.len(), MOVES_MAX as usize);
        assert_eq!((moves.current_id(-2), moves.current_id(-3)), (-2, -2_000_003), "the oldest went");
    }
}

//! What has been confirmed and what is asked for next; how an update that is not even JSON is
//! passed over without losing one that is.

use super::outline::find_update_id;
use cofferdam_store::running_ms;

/// Updates of one answer.
const BATCH_MAX: u8 = 100;
/// After a quiet week update ids start anew at a random number: an offset this old is not sent. In
/// milliseconds; the machine may have slept meanwhile.
const OFFSET_AGE_MAX_MS: i64 = 24 * 60 * 60 * 1000;
/// So often an answer may be unreadable before its updates are fetched one by one, and before one
/// alone is passed over.
const UNREADABLE_MAX: u32 = 2;

/// What has been confirmed, and how much is asked for.
pub(super) struct Cursor {
    /// What is asked for next, and since when, by [`running_ms`].
    next: Option<(i64, i64)>,
    pub(super) limit: u8,
    unreadable: u32,
}

impl Default for Cursor {
    fn default() -> Self {
        Self { next: None, limit: BATCH_MAX, unreadable: 0 }
    }
}

impl Cursor {
    pub(super) fn offset(&self) -> Option<i64> {
        self.next.filter(|(_, since)| running_ms() - since < OFFSET_AGE_MAX_MS).map(|(offset, _)| offset)
    }

    /// Everything up to `last` is persisted.
    pub(super) fn advance(&mut self, last: Option<i64>) {
        self.unreadable = 0;
        if last.is_none() {
            self.limit = BATCH_MAX;
        }
        if let Some(last) = last {
            let next = last.saturating_add(1);
            self.next = Some((self.offset().map_or(next, |offset| offset.max(next)), running_ms()));
        }
    }

    /// An answer was not JSON. If it stays so, the updates are fetched one by one, and one that
    /// cannot be read even alone is passed over: it would block all others for ever. Whether the
    /// cursor has moved.
    pub(super) fn pass_over(&mut self, text: &str) -> bool {
        self.unreadable += 1;
        if self.unreadable < UNREADABLE_MAX {
            return false;
        }
        if self.limit > 1 {
            (self.limit, self.unreadable) = (1, 0);
            return false;
        }
        // Only the Bot API begins so. A portal's page must not move the cursor.
        if !text.starts_with(r#"{"ok":true,"result":["#) {
            return false;
        }
        let found = find_update_id(text);
        // All below the offset is confirmed and this update is the first, so one step confirms at
        // most it.
        let Some(id) = found.max(self.offset()) else { return false };
        tracing::error!(
            update_id = id,
            "an update that is not JSON is passed over; its sender is not answered"
        );
        self.next = Some((id.saturating_add(1), running_ms()));
        if found.is_some() {
            (self.limit, self.unreadable) = (BATCH_MAX, 0);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_only_grows_and_is_forgotten_after_a_quiet_day() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.offset(), None);
        cursor.advance(Some(10));
        cursor.advance(None);
        cursor.advance(Some(3));
        assert_eq!(cursor.offset(), Some(11));
        cursor.next = Some((11, running_ms() - OFFSET_AGE_MAX_MS));
        assert_eq!(cursor.offset(), None);
        cursor.advance(Some(3));
        assert_eq!(cursor.offset(), Some(4), "ids may start anew at a lower number");
    }

    #[test]
    fn only_a_real_answer_that_stays_unreadable_is_passed_over() {
        let mut cursor = Cursor::default();
        cursor.advance(Some(10));
        for _ in 0..20 {
            cursor.pass_over("<html>");
        }
        assert_eq!((cursor.offset(), cursor.limit), (Some(11), 1));
        cursor.advance(None);
        for _ in 0..3 {
            cursor.pass_over(r#"{"ok":true,"result":[{"update_id":15,"message":"#);
        }
        assert_eq!((cursor.offset(), cursor.limit), (Some(11), 1));
        cursor.pass_over(r#"{"ok":true,"result":[{"update_id":15,"message":"#);
        assert_eq!((cursor.offset(), cursor.limit), (Some(16), BATCH_MAX));
        let stepped: Vec<_> = (0..6)
            .map(|_| (cursor.pass_over(r#"{"ok":true,"result":[nonsense]}"#), cursor.offset()))
            .collect();
        let (stays, moved) = (false, true);
        assert_eq!(
            stepped.iter().map(|(cursored, offset)| (*cursored, offset.unwrap_or(0))).collect::<Vec<_>>(),
            [(stays, 16), (stays, 16), (stays, 16), (moved, 17), (moved, 18), (moved, 19)],
            "one step at a time"
        );
    }
}

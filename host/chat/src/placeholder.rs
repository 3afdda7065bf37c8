//! The message that stands for the answer while its turn runs, and shows what there is to show:
//! what a long call is doing, how far several have come, what a model has said so far. One a turn
//! at most; the answer takes its place. Nothing about it can fail a turn.

use crate::outbound::{PlaceholderRef, SendError, StyledText, first_piece, markdown};
use crate::{LiveStatus, StatusDelays, StatusText, TurnDisplay};
use async_trait::async_trait;
use cofferdam_core::id::TurnId;
use cofferdam_store::{self as store, Store};
use std::time::Duration;

/// What is over sooner needs no word: a sign of life is enough.
const PATIENCE: StatusDelays = StatusDelays { doing: Duration::from_secs(2), saying: Duration::from_secs(1) };
/// Between two edits that tell what is done.
const DOING_EVERY: Duration = Duration::from_secs(3);
/// Between two edits that tell what is said, in a chat of two.
const SAYING_EVERY: Duration = Duration::from_secs(1);
/// Between any two edits in a group: it takes fewer messages a minute, and its members read other
/// things as well.
const GROUP_EVERY: Duration = Duration::from_secs(5);
/// Says that more comes.
const GOES_ON: &str = " …";

/// A message that can be changed, where a turn is answered.
#[async_trait]
pub trait EditableMessage: Send + Sync + 'static {
    /// Whether a message that is sent again is there once.
    const IS_SENT_ONCE: bool;
    /// How much text it holds, in UTF-16 units.
    const TEXT_UNITS_MAX: usize;

    /// Whether others than the sender read it.
    fn is_in_group(&self) -> bool;

    /// Waits until there is room for something that could be left out.
    async fn room(&self);

    /// Sends it and returns its id.
    ///
    /// # Errors
    /// [`SendError::Later`] where it is left out; after the others nobody knows whether it is
    /// there.
    async fn send(&self, text: &StyledText) -> Result<i64, SendError>;

    /// The same for one that may be there already, and must be known then: waits until there is
    /// room.
    ///
    /// # Errors
    /// Why nobody knows whether it is there.
    async fn send_again(&self, text: &StyledText) -> Result<i64, SendError> {
        self.send(text).await
    }

    /// Gives it another text.
    ///
    /// # Errors
    /// [`SendError::Later`] where it is left out, `Refused` and `Gone` where the message is not
    /// there any more; after the others the text may still arrive.
    async fn edit(&self, id: i64, text: &StyledText) -> Result<(), SendError>;
}

/// The message of one turn.
pub struct Placeholder<D> {
    store: Store,
    turn: TurnId,
    draft: D,
    state: PlaceholderState,
}

/// What there is of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlaceholderState {
    /// Nothing yet.
    None,
    /// It was begun, and may be sent still: it was left out, or is there once however often it is
    /// sent.
    Begun,
    /// The message.
    Shown(i64),
    /// The message, with an edit of which nobody knows whether it will still arrive.
    Doubtful(i64),
    /// Nothing, and nothing more will come: somebody deleted it, or it may or may not have been
    /// sent.
    Over,
}

impl<D: EditableMessage> Placeholder<D> {
    /// Shows a turn until it is ended. `before` is what an earlier run of the same turn has left.
    pub fn start(
        store: Store,
        turn: TurnId,
        draft: D,
        before: Option<store::Placeholder>,
    ) -> LiveStatus<Self> {
        let state = match before {
            None => PlaceholderState::None,
            Some(store::Placeholder::Unknown) if D::IS_SENT_ONCE => PlaceholderState::Begun,
            Some(store::Placeholder::Unknown) => PlaceholderState::Over,
            Some(store::Placeholder::Sent(id)) => {
                id.parse().map_or(PlaceholderState::Over, PlaceholderState::Shown)
            }
        };
        LiveStatus::start(Self { store, turn, draft, state }, PATIENCE)
    }

    /// What stands there for the reply, once this has ended: no request about it is under way any
    /// more, and one that overtook the answer would take its place.
    pub fn to_ref(&self) -> Option<PlaceholderRef> {
        match self.state {
            PlaceholderState::Shown(id) => Some(PlaceholderRef::Edit(id)),
            PlaceholderState::Doubtful(id) => Some(PlaceholderRef::Delete(id)),
            PlaceholderState::None | PlaceholderState::Begun | PlaceholderState::Over => None,
        }
    }
}

#[async_trait]
impl<D: EditableMessage> TurnDisplay for Placeholder<D> {
    /// Finds the message that an earlier run may have sent: it must not stand there for ever.
    async fn begin(&mut self) {
        if self.state == PlaceholderState::Begun {
            let text = StyledText::plain("⏳ …");
            self.state = self.note_sent(self.draft.send_again(&text)).await;
        }
    }

    async fn room(&mut self) {
        match self.state {
            PlaceholderState::None | PlaceholderState::Begun | PlaceholderState::Shown(_) => {
                self.draft.room().await
            }
            PlaceholderState::Doubtful(_) | PlaceholderState::Over => std::future::pending().await,
        }
    }

    async fn show(&mut self, sight: StatusText) -> Duration {
        self.state = self.show_text(&status_to_text::<D>(&sight)).await;
        match sight {
            _ if self.draft.is_in_group() => GROUP_EVERY,
            StatusText::Doing(_) => DOING_EVERY,
            StatusText::Saying(_) => SAYING_EVERY,
        }
    }

    fn is_left_out(&self) -> bool {
        self.state == PlaceholderState::Begun
    }
}

impl<D: EditableMessage> Placeholder<D> {
    /// Sends or edits; returns what there is then.
    async fn show_text(&self, text: &StyledText) -> PlaceholderState {
        match self.state {
            PlaceholderState::None | PlaceholderState::Begun => self.send(text).await,
            // Another node may have put its answer in this place.
            PlaceholderState::Shown(_) if !self.store.has_lease() => self.state,
            PlaceholderState::Shown(id) => match self.draft.edit(id, text).await {
                Ok(()) | Err(SendError::Later(_)) => self.state,
                Err(SendError::Refused(_) | SendError::Gone(_)) => PlaceholderState::Over,
                Err(SendError::Unreachable(_) | SendError::TooSlow(_)) => PlaceholderState::Doubtful(id),
            },
            PlaceholderState::Doubtful(_) | PlaceholderState::Over => self.state,
        }
    }

    /// Sends it, if it can be written down before: a turn that runs again must not send a second
    /// one.
    async fn send(&self, text: &StyledText) -> PlaceholderState {
        if let Err(error) = self.store.mark_placeholder_begun(&self.turn).await {
            tracing::debug!(turn = %self.turn, %error, "nothing is shown of a turn");
            return PlaceholderState::Over;
        }
        self.note_sent(self.draft.send(text)).await
    }

    /// Has it sent, and notes what came of that.
    async fn note_sent(
        &self,
        sending: impl Future<Output = Result<i64, SendError>> + Send,
    ) -> PlaceholderState {
        if !self.store.has_lease() {
            // Another node may show the turn.
            return self.state;
        }
        let sent = match sending.await {
            Ok(sent) => sent,
            Err(SendError::Later(pause)) => {
                tracing::debug!(turn = %self.turn, ?pause, "a turn is not shown for now");
                return PlaceholderState::Begun;
            }
            Err(failure) => {
                tracing::debug!(turn = %self.turn, %failure, "nothing is shown of a turn");
                return PlaceholderState::Over;
            }
        };
        if let Err(error) = self.store.mark_placeholder_sent(&self.turn, &sent.to_string()).await {
            tracing::warn!(turn = %self.turn, %error, "a placeholder would be forgotten by a crash now");
        }
        PlaceholderState::Shown(sent)
    }
}

/// In place of an answer that is not there yet: what is done, or what is said so far.
fn status_to_text<D: EditableMessage>(sight: &StatusText) -> StyledText {
    match sight {
        StatusText::Doing(words) => StyledText::plain(format!("⏳ {words}")),
        StatusText::Saying(text) => partial_answer(text, D::TEXT_UNITS_MAX),
    }
}

/// As much of an answer as one message holds, and a sign that it goes on.
fn partial_answer(text: &str, text_units_max: usize) -> StyledText {
    let all = markdown(text);
    let first = first_piece(&all.text, text_units_max - GOES_ON.len());
    let mut head = all.slice(0..first).truncate_spans();
    head.push(StyledText::plain(GOES_ON));
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Notes what reaches the people.
    #[derive(Default)]
    struct Paper(Mutex<Vec<String>>);

    #[async_trait]
    impl EditableMessage for Paper {
        const IS_SENT_ONCE: bool = true;
        const TEXT_UNITS_MAX: usize = 100;

        fn is_in_group(&self) -> bool {
            false
        }

        async fn room(&self) {}

        async fn send(&self, text: &StyledText) -> Result<i64, SendError> {
            self.0.lock().expect("paper").push(format!("sent {}", text.text));
            Ok(1)
        }

        async fn edit(&self, id: i64, text: &StyledText) -> Result<(), SendError> {
            self.0.lock().expect("paper").push(format!("{id} is {}", text.text));
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_node_that_was_taken_out_shows_nothing_over_the_answer_of_another_one() {
        let store = Store::in_memory().expect("there is room");
        let shows = |state| {
            let (store, turn) = (store.clone(), TurnId::new("t"));
            Placeholder { store, turn, draft: Paper::default(), state }
        };
        let says = || StatusText::Doing("works".to_owned());
        let mut shown = shows(PlaceholderState::None);
        shown.show(says()).await;
        shown.show(says()).await;
        store.note_taken_over();
        shown.show(says()).await;
        assert_eq!(*shown.draft.0.lock().expect("paper"), ["sent ⏳ works", "1 is ⏳ works"]);
        assert_eq!(shown.state, PlaceholderState::Shown(1));
        for state in [PlaceholderState::None, PlaceholderState::Begun] {
            let mut fresh = shows(state);
            fresh.begin().await;
            fresh.show(says()).await;
            assert_eq!((fresh.draft.0.lock().expect("paper").len(), &fresh.state), (0, &state));
        }
    }

    #[test]
    fn what_is_said_so_far_fits_into_one_message_and_goes_on() {
        let check = |text: &str, shown: &str| assert_eq!(partial_answer(text, 4096).text, shown, "{text:?}");
        check("", " …");
        check("**a** b", "a b …");
        check("```\ncode", "code …");
        let long = partial_answer(&"**👍** ".repeat(5000), 4096);
        assert!(long.text.ends_with(" …") && long.text.encode_utf16().count() <= 4096);
        assert!(long.spans.iter().all(|span| long.text.get(span.start..span.end).is_some()));
    }
}

//! How often each message is out: once, and once more for each time that nobody could know that it
//! was. That is where its acknowledgement was lost, or where a kill fell between two copies.

use anyhow::{Result, ensure};
use std::collections::BTreeMap;
use support::platform::{RequestRecord, Sent};
use support::telegram::Effect;

/// What may have been said without the gateway's knowing.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Messages that were sent and not acknowledged, by where and what they say.
    unheard: BTreeMap<(i64, String), usize>,
    /// For each kill so many messages were sent when the gateway was dead, and when the next one
    /// was up. One more may have been on its way.
    kills: Vec<(usize, usize)>,
}

impl Copies {
    /// A kill between so many sent messages and so many.
    pub(super) fn killed(&mut self, dead: usize, up: usize) {
        self.kills.push((dead, up));
    }

    /// Kills so far.
    pub(super) fn kills(&self) -> usize {
        self.kills.len()
    }

    /// Notes the messages of which the gateway did not hear.
    pub(super) fn note(&mut self, requests: &[RequestRecord]) {
        for request in requests.iter().filter(|request| request.fault == Some(Effect::Taken)) {
            let text = ["text", "caption"].iter().find_map(|name| request.params.get(*name)?.as_str());
            let chat = request.params.get("chat_id").and_then(serde_json::Value::as_i64);
            if let (Some(chat), Some(text)) = (chat, text) {
                *self.unheard.entry((chat, text.to_owned())).or_default() += 1;
            }
        }
    }

    /// Copies beyond the first of one message, which is all of these: their places among those that
    /// were sent.
    ///
    /// # Errors
    /// When there is one too many, or none.
    pub(super) fn judge(&self, what: &str, found: &[(usize, &Sent)]) -> Result<usize> {
        let (Some((earliest, first)), Some((latest, _))) = (found.first(), found.last()) else {
            anyhow::bail!("{what:?} was never sent");
        };
        let repeats = found.len() - 1;
        let killed = self.kills.iter().filter(|(dead, up)| earliest < up && latest >= dead).count();
        let unheard = self.unheard.get(&(first.place, first.text.clone())).copied().unwrap_or(0);
        ensure!(
            repeats <= killed + unheard,
            "{what:?} was sent {} times, with {unheard} unheard and {killed} kills between",
            repeats + 1
        );
        Ok(repeats)
    }
}

mod tests {
    use super::*;

    #[test]
    fn a_repeat_needs_its_reason() {
        let sent = Sent {
            place: 7,
            id: 1,
            reply_to: None,
            text: "question q1".to_owned(),
            source: String::new(),
            files: Vec::new(),
            buttons: Vec::new(),
            deleted: false,
        };
        let twice = [(3, &sent), (5, &sent)];
        let mut copies = Copies::default();
        assert!(copies.judge("it", &[]).is_err(), "none");
        assert_eq!(copies.judge("it", &twice[..1]).ok(), Some(0));
        // A kill before both, or after both, is no reason; one between them is, once.
        copies.killed(3, 3);
        copies.killed(6, 6);
        assert!(copies.judge("it", &twice).is_err(), "for no reason");
        copies.killed(4, 4);
        assert_eq!(copies.judge("it", &twice).ok(), Some(1));
        assert!(copies.judge("it", &[(3, &sent), (4, &sent), (5, &sent)]).is_err(), "once too often");
    }
}

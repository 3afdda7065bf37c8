//! Streams with bytes changed, lost and doubled, and byte-order marks before them: in every case
//! nothing panics, an answer that is taken for whole has heard an end, and where the bytes are cut
//! makes no difference.

use super::heard;
use crate::llm::chat::LimitField;
use crate::llm::dialect::Dialect;

/// Numbers that look like chance and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound
    }
}

fn garble(recorded: &str, chance: &mut Chance) -> Vec<u8> {
    let mut bytes = recorded.as_bytes().to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len());
        let end = bytes.len().min(at + 1 + chance.below(40));
        match chance.below(5) {
            0 => bytes[at] = b"0{}[]\",:\n-9\\"[chance.below(12)],
            1 => drop(bytes.drain(at..end)),
            2 => {
                let doubled = bytes[at..end].to_vec();
                bytes.splice(at..at, doubled);
            }
            3 => drop(bytes.splice(0..0, "\u{feff}".bytes())),
            _ => bytes[at] = u8::try_from(chance.below(256)).unwrap_or_default(),
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

#[tokio::test]
async fn nothing_panics_on_what_a_server_may_send() {
    let chat = Dialect::Chat(LimitField::MaxTokens);
    let responses = Dialect::Responses { max_output_tokens: 1000 };
    let recorded: [(Dialect, &str, &str); 6] = [
        (chat, include_str!("../chat/streams/text.sse"), "finish_reason"),
        (chat, include_str!("../chat/streams/calls.sse"), "finish_reason"),
        (Dialect::Anthropic, include_str!("../anthropic/streams/text.sse"), "message_stop"),
        (Dialect::Anthropic, include_str!("../anthropic/streams/calls.sse"), "message_stop"),
        (responses, include_str!("../responses/streams/text.sse"), "response."),
        (responses, include_str!("../responses/streams/calls.sse"), "response."),
    ];
    let mut chance = Chance(1);
    let (mut whole, mut failed) = (0, 0);
    for (dialect, recorded, end) in recorded {
        for _ in 0..500 {
            let garbled = garble(recorded, &mut chance);
            let reply = heard(dialect, &garbled, 64).await.map(|(_, texts)| texts.concat());
            let again = heard(dialect, &garbled, 7).await.map(|(_, texts)| texts.concat());
            let garbled = String::from_utf8_lossy(&garbled);
            assert_eq!(again, reply, "{garbled}");
            match reply {
                Ok(_) => {
                    assert!(garbled.contains(end) || garbled.contains("[DONE]"), "{garbled}");
                    whole += 1;
                }
                Err(_) => failed += 1,
            }
        }
    }
    assert!(
        whole > 100 && failed > 100,
        "{whole} whole, {failed} failed: too little was garbled, or too much"
    );
}

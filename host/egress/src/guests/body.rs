//! The body of an answer: unpacked, counted, blanked, and handed out in bounded pieces.

use super::until;
use crate::hop::innermost_cause;
use bytes::Bytes;
use cofferdam_core::secret::Blanker;
use cofferdam_core::web::{FailureKind, HttpFailure, PIECE_BYTES_MAX, Terms};
use flate2::write::MultiGzDecoder;
use reqwest::Response;
use std::future::poll_fn;
use std::io::Write;
use std::pin::pin;
use std::task::Poll;
use tokio::runtime::Runtime;

/// Packed bytes that are unpacked at once: at most a thousand times as many come out.
const STEP_BYTES: usize = 256;

/// Packed bytes that an answer may have beyond twice what may come out of it: no packer needs as
/// many, and what is packed as nothing, over and over, would never end by what comes out.
const PACKED_MORE_BYTES: u64 = 64 << 10;

/// A body whose bytes are still to come.
pub(super) struct Unpacked {
    response: Response,
    /// Drives the connection while somebody waits for it; taken when this is dropped.
    runtime: Option<Runtime>,
    unpacker: Option<MultiGzDecoder<Vec<u8>>>,
    /// Bytes that the unpacker was given.
    packed: u64,
    blanker: Blanker,
    terms: Terms,
    /// What came and was not unpacked yet.
    input: Bytes,
    /// What came while nobody waited for it: a piece, the end, or a failure.
    ahead: Option<Result<Option<Bytes>, reqwest::Error>>,
    /// What can be handed out.
    output: Vec<u8>,
    state: BodyState,
}

#[derive(Clone, Debug)]
enum BodyState {
    Coming,
    /// All has come.
    Ended,
    Failed(HttpFailure),
}

impl Unpacked {
    pub(super) fn new(
        response: Response,
        runtime: Runtime,
        is_gzip: bool,
        blanker: Blanker,
        terms: Terms,
    ) -> Self {
        let unpacker = is_gzip.then(|| MultiGzDecoder::new(Vec::new()));
        Self {
            response,
            runtime: Some(runtime),
            unpacker,
            packed: 0,
            blanker,
            terms,
            input: Bytes::new(),
            ahead: None,
            output: Vec::new(),
            state: BodyState::Coming,
        }
    }

    /// Takes in a little more.
    fn step(&mut self) -> Result<(), HttpFailure> {
        if self.input.is_empty() {
            let Some(runtime) = &self.runtime else { return Ok(()) };
            let piece = match self.ahead.take() {
                Some(come) => come,
                None => runtime.block_on(until(&self.terms, self.response.chunk()))?,
            };
            let broken = |e| {
                HttpFailure::new(
                    FailureKind::Broken,
                    format!("the connection broke: {}", innermost_cause(&e)),
                )
            };
            match piece.map_err(broken)? {
                Some(piece) => self.input = piece,
                None => return self.end(),
            }
        }
        let plain = match &mut self.unpacker {
            None => self.input.split_to(self.input.len().min(PIECE_BYTES_MAX)).to_vec(),
            Some(unpacker) => {
                let step = self.input.split_to(self.input.len().min(STEP_BYTES));
                self.packed += step.len() as u64;
                check_packed(self.packed, self.terms.network.bytes.0)?;
                unpacker.write_all(&step).map_err(|_| malformed())?;
                std::mem::take(unpacker.get_mut())
            }
        };
        self.terms.allowance.take(plain.len() as u64)?;
        self.output.extend(self.blanker.take(&plain));
        Ok(())
    }

    /// Whether something has come that is not taken in yet. Waits for nothing.
    fn has_more(&mut self) -> bool {
        if self.input.is_empty()
            && self.ahead.is_none()
            && matches!(self.state, BodyState::Coming)
            && let Some(runtime) = &self.runtime
        {
            let at_once = runtime.block_on(async {
                // Lets the connection read what is there.
                tokio::task::yield_now().await;
                let mut chunk = pin!(self.response.chunk());
                poll_fn(|context| Poll::Ready(chunk.as_mut().poll(context))).await
            });
            if let Poll::Ready(come) = at_once {
                self.ahead = Some(come);
            }
        }
        !self.input.is_empty() || self.ahead.is_some()
    }

    fn end(&mut self) -> Result<(), HttpFailure> {
        self.state = BodyState::Ended;
        // An answer without a body, as that to HEAD, is packed as nothing at all.
        if let Some(mut unpacker) = self.unpacker.take().filter(|_| self.packed > 0) {
            let cut = |_| {
                let said = "the body is packed as gzip, and is damaged or ends too early";
                HttpFailure::new(FailureKind::Broken, said)
            };
            unpacker.try_finish().map_err(cut)?;
            let plain = std::mem::take(unpacker.get_mut());
            self.terms.allowance.take(plain.len() as u64)?;
            self.output.extend(self.blanker.take(&plain));
        }
        self.output.extend(self.blanker.rest());
        Ok(())
    }
}

/// Refuses more packed bytes than those of a body that this call may have.
fn check_packed(packed: u64, bytes_max: u64) -> Result<(), HttpFailure> {
    let most = bytes_max.saturating_mul(2).saturating_add(PACKED_MORE_BYTES);
    if packed <= most {
        return Ok(());
    }
    let said = format!("the body has more than {most} packed bytes, for {bytes_max} that this call may have");
    Err(HttpFailure::new(FailureKind::TooLarge, said))
}

fn malformed() -> HttpFailure {
    HttpFailure::new(FailureKind::Broken, "the body is said to be packed as gzip, and is not")
}

impl Iterator for Unpacked {
    type Item = Result<Vec<u8>, HttpFailure>;

    fn next(&mut self) -> Option<Self::Item> {
        // At least something, and as much as is there: a server may send byte by byte.
        while self.output.is_empty() || (self.output.len() < PIECE_BYTES_MAX && self.has_more()) {
            match &self.state {
                BodyState::Ended => break,
                BodyState::Failed(failure) => return Some(Err(failure.clone())),
                BodyState::Coming => {}
            }
            if let Err(failure) = self.step() {
                self.state = BodyState::Failed(failure.clone());
                // What came before it is not handed out: it may end in a part of a secret.
                self.output.clear();
                return Some(Err(failure));
            }
        }
        let rest = self.output.split_off(self.output.len().min(PIECE_BYTES_MAX));
        let piece = std::mem::replace(&mut self.output, rest);
        (!piece.is_empty()).then_some(Ok(piece))
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A look-up of a name may hold a thread for longer than the call.
            runtime.shutdown_background();
        }
    }
}

//! A guest's stdout and stderr: line by line to the gateway's log, up to a cap, then into nothing.

use crate::gateway::GatewayLink;
use crate::last_words::{self, LastWords};
use crate::output::ByteSink;
use cofferdam_core::host_call::{LINE_OVERHEAD_BYTES, Notification, OUTPUT_BYTES_MAX};
use cofferdam_core::lock::lock;
use cofferdam_core::text::one_line;
use std::sync::{Arc, Mutex};
use wasmtime_wasi::p2::StreamResult;

/// Longer lines are cut, which shows: one byte more is kept of them until then.
const LINE_BYTES_MAX: usize = 1024;

/// Both streams of one call.
#[derive(Clone)]
pub(crate) struct CallStreams(Arc<Mutex<CapturedStream>>);

struct CapturedStream {
    gateway: GatewayLink,
    line: Vec<u8>,
    /// The line that is not logged any more.
    over: Vec<u8>,
    last: LastWords,
    left: usize,
    dropped: u64,
}

impl CallStreams {
    pub(crate) fn new(gateway: GatewayLink) -> Self {
        Self(Arc::new(Mutex::new(CapturedStream {
            gateway,
            line: Vec::new(),
            over: Vec::new(),
            last: LastWords::default(),
            left: OUTPUT_BYTES_MAX,
            dropped: 0,
        })))
    }

    /// What it printed last that says what happened, bounded and on one line.
    pub(crate) fn tail(&self) -> String {
        let mut captured = lock(&self.0);
        captured.end_line();
        captured.end_over();
        one_line(&captured.last.telling_message(), 400)
    }

    /// Logs what is left of the last line, and how much was dropped.
    pub(crate) fn finish(&self) {
        let mut captured = lock(&self.0);
        captured.end_line();
        if captured.dropped > 0 {
            let bytes = captured.dropped;
            let line =
                format!("output over the cap was dropped ({bytes} bytes); the lines before are not its last");
            captured.gateway.notify(Notification::Log(&line));
        }
    }
}

impl CapturedStream {
    fn take(&mut self, bytes: &[u8]) {
        for (at, byte) in bytes.iter().enumerate() {
            let cost = if *byte == b'\n' { 1 + LINE_OVERHEAD_BYTES } else { 1 };
            let Some(left) = self.left.checked_sub(cost) else {
                // Nothing after the first byte over the cap, or short lines would still trickle in.
                self.left = 0;
                self.dropped += (bytes.len() - at) as u64;
                self.end_line();
                self.overhear(&bytes[at..]);
                return;
            };
            self.left = left;
            if *byte == b'\n' {
                self.end_line();
            } else if self.line.len() <= LINE_BYTES_MAX {
                self.line.push(*byte);
            }
        }
    }

    /// Keeps what may be its last words, of which none reach the log.
    fn overhear(&mut self, bytes: &[u8]) {
        for byte in &bytes[bytes.len().saturating_sub(last_words::BYTES_MAX)..] {
            if *byte == b'\n' {
                self.end_over();
            } else if self.over.len() <= LINE_BYTES_MAX {
                self.over.push(*byte);
            }
        }
    }

    fn end_over(&mut self) {
        if !self.over.is_empty() {
            self.last.push(one_line(&String::from_utf8_lossy(&self.over), LINE_BYTES_MAX));
            self.over.clear();
        }
    }

    fn end_line(&mut self) {
        if !self.line.is_empty() {
            let text = one_line(&String::from_utf8_lossy(&self.line), LINE_BYTES_MAX);
            self.gateway.notify(Notification::Log(&text));
            self.line.clear();
            self.last.push(text);
        }
    }
}

impl ByteSink for CallStreams {
    const PERMIT_BYTES: usize = 64 << 10;

    fn append(&mut self, bytes: &[u8]) -> StreamResult<()> {
        lock(&self.0).take(bytes);
        Ok(())
    }

    // They say nothing in a log.
    fn append_zeroes(&mut self, zeroes: usize) -> StreamResult<()> {
        lock(&self.0).dropped += zeroes as u64;
        Ok(())
    }
}

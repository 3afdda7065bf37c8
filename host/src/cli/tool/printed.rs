//! What a tool printed last, for the author of one that crashed.

use cofferdam_core::lock::lock;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_warden::sandbox::Reports;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// So much of it is shown.
const PRINTED_BYTES_MAX: usize = 2 << 10;

/// The last lines of one call.
#[derive(Clone, Default)]
pub(super) struct PrintedLines(Arc<Mutex<VecDeque<String>>>);

impl PrintedLines {
    /// What takes the lines.
    pub(super) fn reporter(&self) -> Reports {
        let lines = self.0.clone();
        Arc::new(move |line: &str| {
            let mut lines = lock(&lines);
            lines.push_back(line.to_owned());
            while lines.len() > 1
                && lines.iter().map(|line| line.len() + 1).sum::<usize>() > PRINTED_BYTES_MAX
            {
                lines.pop_front();
            }
        })
    }

    /// The lines, if the call ended in a way that they may explain.
    pub(super) fn crash_lines<T>(&self, result: &Result<T, ToolError>) -> Vec<String> {
        let crashed = [ErrorCode::Trapped, ErrorCode::OutOfMemory, ErrorCode::TimedOut];
        match result {
            Err(error) if crashed.contains(&error.code) => lock(&self.0).iter().cloned().collect(),
            _ => Vec::new(),
        }
    }
}

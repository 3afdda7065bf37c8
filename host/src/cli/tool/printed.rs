//! What a tool printed last, for the author of one that crashed.

use super::super::call;
use crate::gateway::Gateway;
use cofferdam_agent::tools::CallRequest;
use cofferdam_core::lock::lock;
use cofferdam_core::tool::{ErrorCode, ToolAnswer, ToolError};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// So much of it is shown.
const PRINTED_BYTES_MAX: usize = 2 << 10;

/// What becomes of one call, and the last lines that it printed, if it ended in a way that they may
/// explain.
pub(super) fn run_call(
    gateway: &Gateway,
    request: CallRequest,
) -> anyhow::Result<(Result<ToolAnswer, ToolError>, Vec<String>)> {
    let printed = Arc::new(Mutex::new(VecDeque::<String>::new()));
    let lines = printed.clone();
    let keep = move |line: &str| {
        let mut lines = lock(&lines);
        lines.push_back(line.to_owned());
        while lines.len() > 1 && lines.iter().map(|line| line.len() + 1).sum::<usize>() > PRINTED_BYTES_MAX {
            lines.pop_front();
        }
    };
    let result = call::run_call(gateway, CallRequest { printed: Some(Arc::new(keep)), ..request })?;
    let crashed = [ErrorCode::Trapped, ErrorCode::OutOfMemory, ErrorCode::TimedOut];
    let last = match &result {
        Err(error) if crashed.contains(&error.code) => lock(&printed).iter().cloned().collect(),
        _ => Vec::new(),
    };
    Ok((result, last))
}

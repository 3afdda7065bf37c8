//! Behaviours that take as much as they get: memory, handles, random bytes.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

use cofferdam_sdk::serde_json::{Value, json};
use cofferdam_sdk::{ToolError, attachments};
use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::random::random::get_random_bytes;

use crate::{Arguments, Seen};

const BLOCK: usize = 1 << 20;

/// Calls that this instance has seen.
static CALLS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn run(arguments: &Arguments) -> Option<Seen> {
    Some(match arguments.name() {
        "grow_memory" => Ok(grow_memory(arguments.bytes.unwrap_or(u64::MAX))),
        "exhaust_memory" => exhaust_memory(),
        "grow_handles" => Ok(grow_handles(arguments.bytes.unwrap_or(u64::MAX))),
        "open_many" => open_many(arguments),
        "open_attachments" => open_attachments(arguments),
        "random" => random(arguments),
        "calls" => Ok(json!({ "calls": CALLS.fetch_add(1, Ordering::Relaxed) + 1 })),
        "dirt" => Ok(json!({ "dirt": dirt(arguments.bytes.unwrap_or(4 << 20)) })),
        _ => return None,
    })
}

/// Takes memory until there is none, or `most` bytes, and says how much there was.
fn grow_memory(most: u64) -> Value {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let mut grown: u64 = 0;
    while grown < most {
        let mut block = Vec::new();
        if block.try_reserve_exact(BLOCK).is_err() || blocks.try_reserve(1).is_err() {
            // Room for the answer.
            blocks.truncate(blocks.len().saturating_sub(2));
            break;
        }
        block.resize(BLOCK, 1);
        grown += BLOCK as u64;
        blocks.push(block);
    }
    json!({ "grown_bytes": grown, "refused": grown < most })
}

/// What an ordinary program does when there is no memory: it aborts.
fn exhaust_memory() -> Seen {
    let mut blocks = Vec::new();
    loop {
        blocks.push(std::hint::black_box(vec![1_u8; BLOCK]));
    }
}

fn grow_handles(most: u64) -> Value {
    let kept: Vec<_> = (0..most).map(|_| subscribe_duration(u64::MAX)).collect();
    json!({ "handles": kept.len() })
}

fn open_many(arguments: &Arguments) -> Seen {
    let (path, wanted) = (arguments.path()?, arguments.bytes()?);
    let mut open = Vec::new();
    let refused = (0..wanted).find_map(|_| File::open(path).map(|file| open.push(file)).err());
    Ok(json!({ "opened": open.len(), "error": refused.map(|error| format!("{:?}", error.kind())) }))
}

fn open_attachments(arguments: &Arguments) -> Seen {
    let open: Result<Vec<_>, ToolError> = (0..arguments.bytes()?).map(|_| attachments::open(0)).collect();
    Ok(json!({ "opened": open?.len() }))
}

fn random(arguments: &Arguments) -> Seen {
    let bytes = get_random_bytes(arguments.bytes()?);
    Ok(json!({ "bytes": bytes.len(), "all_zero": bytes.iter().all(|&byte| byte == 0) }))
}

/// Takes memory that this instance never had, and counts the bytes in it that somebody else left
/// there.
#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "safe code reads only what it has written")]
fn dirt(bytes: u64) -> Option<usize> {
    const PAGE: usize = 64 << 10;
    let pages = (bytes as usize).div_ceil(PAGE);
    let first = core::arch::wasm32::memory_grow::<0>(pages);
    let start = first.checked_mul(PAGE)?;
    // SAFETY: the pages are new, so nothing else is in them, and memory never shrinks.
    let fresh = unsafe { std::slice::from_raw_parts(start as *const u8, pages * PAGE) };
    Some(fresh.iter().filter(|byte| **byte != 0).count())
}

#[cfg(not(target_family = "wasm"))]
fn dirt(_bytes: u64) -> Option<usize> {
    None
}

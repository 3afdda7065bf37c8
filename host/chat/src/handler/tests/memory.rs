//! The engine in memory, which the store's own tests hold to the seam. It is included, because no
//! program has it.

use cofferdam_store::*;

#[path = "../../../../store/src/tests/memory/mod.rs"]
mod engine;

pub(super) use engine::Memory;

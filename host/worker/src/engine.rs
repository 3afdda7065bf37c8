//! The wasmtime engine: what of WebAssembly tools may use, how much of it, and on which machines
//! its code runs.
//!
//! Nothing interrupts a guest: the gateway ends the process of one whose time is over.

use cofferdam_core::limits::Limits;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

/// Table elements of a guest, e.g. its function pointers.
pub(crate) const TABLE_ELEMENTS_MAX: usize = 20_000;
/// Core instances of one component: its modules and the adapters between them.
const CORE_INSTANCES_MAX: u32 = 64;
/// Linear memories of one component.
const MEMORIES_MAX: u32 = 2;
/// Tables of one component.
const TABLES_MAX: u32 = 8;
/// Stack of guest code; deeper recursion traps.
const STACK_BYTES_MAX: usize = 512 << 10;
/// Stack that a call runs on: the guest's and the host functions' it calls.
const FIBER_STACK_BYTES: usize = 2 << 20;

/// What a machine must have to run the code: that of x86-64-v2, which all have since about 2009; of
/// aarch64 the base. Code that is embedded or cached runs on any of them, no matter where it was
/// compiled.
#[cfg(target_arch = "x86_64")]
const FEATURES: &[&str] =
    &["has_cmpxchg16b", "has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt"];
#[cfg(not(target_arch = "x86_64"))]
const FEATURES: &[&str] = &[];

/// Machine code calls no C library, but wasmtime runs only what names the one that it was built
/// with itself.
const LIBC: &str = if cfg!(target_env = "musl") { "musl" } else { "gnu" };

/// An engine for one call at a time, for this kind of machine.
///
/// # Errors
/// What wasmtime says where it does not start.
pub(crate) fn engine() -> Result<Engine, String> {
    let target = format!("{}-unknown-linux-{LIBC}", std::env::consts::ARCH);
    engine_for(&target, FEATURES, Limits::CEILING.memory.0 as usize)
}

#[allow(unsafe_code, reason = "wasmtime cannot check that flags of the code generator are sound; see SAFETY")]
fn engine_for(target: &str, features: &[&str], memory_bytes_max: usize) -> Result<Engine, String> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(1)
        .max_component_instance_size(1 << 20)
        .max_core_instances_per_component(CORE_INSTANCES_MAX)
        .total_core_instances(CORE_INSTANCES_MAX)
        .max_core_instance_size(1 << 20)
        .max_memories_per_component(MEMORIES_MAX)
        .total_memories(MEMORIES_MAX)
        .max_memory_size(memory_bytes_max)
        .max_tables_per_component(TABLES_MAX)
        .total_tables(TABLES_MAX)
        .table_elements(TABLE_ELEMENTS_MAX)
        .total_stacks(1)
        // What the last guest dirtied is reset in place, page by page, instead of being unmapped
        // and faulted in again; kernels without PAGEMAP_SCAN unmap beyond this much.
        .pagemap_scan(Enabled::Auto)
        .linear_memory_keep_resident(512 << 10)
        .table_keep_resident(64 << 10);
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .cranelift_opt_level(OptLevel::Speed)
        .max_wasm_stack(STACK_BYTES_MAX)
        .async_stack_size(FIBER_STACK_BYTES)
        // Nobody reads positions in a module or unwinds natively, and they are a sixth of the code.
        .generate_address_map(false)
        .native_unwind_info(false)
        .concurrency_support(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_multi_memory(false)
        .wasm_tail_call(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(16));
    config.target(target).map_err(|e| format!("{e:#}"))?;
    for feature in features {
        // SAFETY: these flags say what instructions the machine has. Before code is loaded,
        // wasmtime holds them against the machine that it runs on, and refuses code that needs
        // more.
        unsafe { config.cranelift_flag_enable(feature) };
    }
    Engine::new(&config).map_err(|e| format!("{e:#}"))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// A module whose one function adds two pairs of numbers: what AVX has another instruction for.
    const ADDS: &[u8] = b"\0asm\x01\0\0\0\x01\x07\x01\x60\x02\x7b\x7b\x01\x7b\x03\x02\x01\0\
        \x0a\x0b\x01\x09\0\x20\0\x20\x01\xfd\xf0\x01\x0b";

    /// This machine has it, as all have that are not very old, and it is not used.
    #[test]
    fn machine_code_needs_nothing_that_only_this_machine_has() {
        let target = format!("x86_64-unknown-linux-{LIBC}");
        let usual = engine_for(&target, FEATURES, 1 << 20).expect("it starts");
        let code = usual.precompile_module(ADDS).expect("a module");
        let addpd = [0x66, 0x0f, 0x58];
        assert!(code.windows(3).any(|bytes| bytes == addpd), "it is added by another instruction");
        let more = [FEATURES, &["has_avx"]].concat();
        let newer = engine_for(&target, &more, 1 << 20).expect("it starts");
        let code = newer.precompile_module(ADDS).expect("a module");
        assert!(!code.windows(3).any(|bytes| bytes == addpd), "with AVX it would look otherwise");
    }
}

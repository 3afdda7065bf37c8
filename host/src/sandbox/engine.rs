//! The wasmtime engine: what of WebAssembly tools may use, how much of it, and the clock that
//! interrupts them.

use super::SandboxError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

/// How often guest code can be interrupted; a deadline is late by at most about this much.
pub(super) const TICK: Duration = Duration::from_millis(5);

/// Table elements of a guest, e.g. its function pointers.
pub(super) const TABLE_ELEMENTS_MAX: usize = 20_000;
/// Core instances of one component: its modules and the adapters between them.
const CORE_INSTANCES_MAX: u32 = 16;
/// Linear memories of one component.
const MEMORIES_MAX: u32 = 2;
/// Tables of one component.
const TABLES_MAX: u32 = 8;
/// Stack of guest code; deeper recursion traps.
const STACK_BYTES_MAX: usize = 512 << 10;
/// Stack that a call runs on: the guest's and the host functions' it calls.
const FIBER_STACK_BYTES: usize = 2 << 20;

/// An engine for at most `calls_max` calls at once.
pub(super) fn engine(calls_max: u32, memory_bytes_max: usize) -> Result<Engine, SandboxError> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls_max)
        .max_component_instance_size(1 << 20)
        .max_core_instances_per_component(CORE_INSTANCES_MAX)
        .total_core_instances(calls_max * CORE_INSTANCES_MAX)
        .max_core_instance_size(1 << 20)
        .max_memories_per_component(MEMORIES_MAX)
        .total_memories(calls_max * MEMORIES_MAX)
        .max_memory_size(memory_bytes_max)
        .max_tables_per_component(TABLES_MAX)
        .total_tables(calls_max * TABLES_MAX)
        .table_elements(TABLE_ELEMENTS_MAX)
        .total_stacks(calls_max)
        // What the last guest dirtied is reset in place, page by page, instead of being unmapped and
        // faulted in again; kernels without PAGEMAP_SCAN unmap beyond this much.
        .pagemap_scan(Enabled::Auto)
        .linear_memory_keep_resident(512 << 10)
        .table_keep_resident(64 << 10);
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .cranelift_opt_level(OptLevel::Speed)
        .epoch_interruption(true)
        .max_wasm_stack(STACK_BYTES_MAX)
        .async_stack_size(FIBER_STACK_BYTES)
        .concurrency_support(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_multi_memory(false)
        .wasm_tail_call(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(16));
    Engine::new(&config).map_err(|e| SandboxError::Engine(format!("{e:#}")))
}

/// Advances the engine's epoch while calls run, so that guest code looks up from time to time.
///
/// The thread holds the engine weakly: it ends when the sandbox is gone. It sleeps while nothing runs.
pub(super) struct Ticker {
    running: Arc<AtomicUsize>,
    thread: Thread,
}

impl Ticker {
    pub(super) fn start(engine: &Engine) -> Result<Self, SandboxError> {
        let running = Arc::new(AtomicUsize::new(0));
        let (weak, seen) = (engine.weak(), running.clone());
        let handle = std::thread::Builder::new()
            .name("epoch".into())
            .spawn(move || {
                loop {
                    if seen.load(Ordering::Acquire) == 0 {
                        // Wakes without being asked now and then, to notice that the engine is gone.
                        std::thread::park_timeout(Duration::from_secs(5));
                    } else {
                        std::thread::sleep(TICK);
                    }
                    match weak.upgrade() {
                        Some(engine) => engine.increment_epoch(),
                        None => return,
                    }
                }
            })
            .map_err(|e| SandboxError::Engine(format!("cannot start the epoch thread: {e}")))?;
        Ok(Self { running, thread: handle.thread().clone() })
    }

    /// Keeps the clock going until the guard is dropped.
    pub(super) fn run(&self) -> Running {
        if self.running.fetch_add(1, Ordering::AcqRel) == 0 {
            self.thread.unpark();
        }
        Running(self.running.clone())
    }
}

/// A call is running.
pub(super) struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use wasmtime::{Module, Store, UpdateDeadline};

    /// A core module that exports `spin`, which loops for ever.
    const SPINS: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x07\x08\x01\x04spin\0\0\
        \x0a\x09\x01\x07\0\x03\x40\x0c\0\x0b\x0b";
    /// However busy the machine is, it lets some of so many looks come in time.
    const LOOKS: usize = 100;

    #[test]
    fn guest_code_looks_up_each_tick_while_a_call_runs() {
        let engine = engine(1, 1 << 20).expect("an engine");
        let ticker = Ticker::start(&engine).expect("a thread");
        let mut store = Store::new(&engine, Vec::new());
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| {
            store.data_mut().push(Instant::now());
            match store.data().len() {
                LOOKS => Err(wasmtime::Error::msg("it has looked up")),
                _ => Ok(UpdateDeadline::Continue(1)),
            }
        });
        let module = Module::new(&engine, SPINS).expect("a module");
        let instance = wasmtime::Instance::new(&mut store, &module, &[]).expect("an instance");
        let spin = instance.get_typed_func::<(), ()>(&mut store, "spin").expect("exported");
        let running = ticker.run();
        spin.call(&mut store, ()).expect_err("it is interrupted");
        drop(running);
        let apart = store.data().windows(2).map(|looks| looks[1] - looks[0]);
        let shortest = apart.min().expect("some");
        // 5 ms, and as long again for a thread to wake up.
        assert!(shortest <= Duration::from_millis(10), "at best {shortest:?} apart");
    }
}

//! The `cofferdam` program: hands its arguments to the command line room and exits as that says.

use std::process::ExitCode;

/// What people install is linked to musl, whose own allocator is slow where threads share work.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Of glibc's allocator. It is where that begins (mallopt(3), `M_MMAP_THRESHOLD`).
#[cfg(target_env = "gnu")]
const MAPPED_FROM: i32 = 128 << 10;

/// Keeps glibc giving large pieces back to the system at once. Left alone it raises the size from
/// which it does with each piece that is freed, up to 32 MiB, and holds what is smaller.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code, reason = "no library sets this; see SAFETY")]
fn give_back_large_pieces() {
    // SAFETY: no memory is passed, and no other thread runs yet. Where it is refused, memory is
    // held for longer.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM) };
}

fn main() -> ExitCode {
    #[cfg(target_env = "gnu")]
    give_back_large_pieces();
    cofferdam::cli::main()
}

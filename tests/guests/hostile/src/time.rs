//! Behaviours that do not end, or end the instance.

use std::hint::black_box;
use std::time::Duration;

use cofferdam_sdk::progress;
use cofferdam_sdk::serde_json::json;
use wasip2::clocks::monotonic_clock::subscribe_duration;

use crate::{Arguments, Seen};

pub(crate) fn run(arguments: &Arguments) -> Option<Seen> {
    let seen = match arguments.name() {
        "spin" => spin(),
        "spin_bulk" => spin_bulk(),
        "recurse" => json!({ "recursed": recurse(black_box(0)) }),
        "sleep" => {
            println!("sleeping");
            std::thread::sleep(Duration::from_secs(3600));
            json!({ "slept": true })
        }
        "poll_never" => {
            subscribe_duration(u64::MAX).block();
            json!({ "ready": true })
        }
        "until_cancelled" => {
            println!("waiting");
            while !progress::cancelled() {
                std::thread::sleep(Duration::from_millis(5));
            }
            println!("let go");
            json!({ "cancelled": true })
        }
        "trap" => trap(),
        "panic" => panic!("hostile \x1b[31mpanic\x1b[0m"),
        "exit" => std::process::exit(0),
        _ => return None,
    };
    Some(Ok(seen))
}

pub(crate) fn spin() -> ! {
    println!("spinning");
    loop {
        std::hint::spin_loop();
    }
}

pub(crate) fn trap() -> ! {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_family = "wasm"))]
    std::process::abort()
}

/// Epochs are looked at between bulk operations only.
fn spin_bulk() -> ! {
    let mut block = vec![0_u8; 16 << 20];
    for round in 0_u8.. {
        black_box(&mut block).fill(round);
    }
    spin()
}

/// Not a tail call, and not to be turned into a loop: each step needs the result of the next.
#[inline(never)]
#[expect(unconditional_recursion, reason = "that is the behaviour")]
fn recurse(depth: u64) -> u64 {
    black_box(recurse(depth + 1)).rotate_left(1) ^ depth
}

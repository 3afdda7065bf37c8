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
        "descend" => {
            return Some(arguments.bytes().map(|left| json!({ "descended": descends(left) })));
        }
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

/// Makes a function that calls itself so many times, with so many numbers handed around: the
/// processor has no place for them but the stack, where each call with 64 of them takes as many
/// words twice, 1 KiB.
macro_rules! descend {
    ($first:ident $($more:ident)*) => {
        #[inline(never)]
        #[expect(clippy::too_many_arguments, reason = "they fill the stack")]
        fn descend(left: u64, $first: u64, $($more: u64),*) -> u64 {
            if left == 0 { $first } else { descend(left - 1, $($more,)* $first ^ left).rotate_left(1) ^ $first }
        }
        fn descends(left: u64) -> u64 {
            $(let $more = black_box(left);)*
            descend(left, left, $($more),*)
        }
    };
}
descend! {
    v0 v1 v2 v3 v4 v5 v6 v7 v8 v9 v10 v11 v12 v13 v14 v15
    v16 v17 v18 v19 v20 v21 v22 v23 v24 v25 v26 v27 v28 v29 v30 v31
    v32 v33 v34 v35 v36 v37 v38 v39 v40 v41 v42 v43 v44 v45 v46 v47
    v48 v49 v50 v51 v52 v53 v54 v55 v56 v57 v58 v59 v60 v61 v62 v63
}

//! The committed corpus on stable Rust: every entry, and a fixed number of mutations of each, the
//! same in every run.
//!
//! `COFFERDAM_FUZZ_ROUNDS` multiplies the mutations, for a longer search without libFuzzer.

use std::path::PathBuf;
use std::{env, fs};

/// Mutations of a whole corpus in one round.
pub const MUTATIONS: usize = 2000;
/// Longer mutations are cut.
const BYTES_MAX: usize = 16 << 10;

/// Runs a check over the corpus of a target and its mutations; returns how many inputs that were.
///
/// # Panics
/// Where the check panics, after printing the input; and for a corpus that is not there or empty.
pub fn run(target: &str, mut check: impl FnMut(&[u8])) -> usize {
    let entries = entries(target);
    assert!(!entries.is_empty(), "fuzz/corpus/{target} is empty");
    for (name, entry) in &entries {
        let _told = Told { target, name, input: entry };
        check(entry);
    }
    let rounds: usize = env::var("COFFERDAM_FUZZ_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let each = (MUTATIONS * rounds).div_ceil(entries.len());
    for (at, (name, entry)) in entries.iter().enumerate() {
        let mut random = Random::seeded(at as u64);
        let mut input = entry.clone();
        for n in 0..each {
            // A few steps away from the entry, then from the start again.
            if n % 6 == 0 {
                input.clone_from(entry);
            }
            let other = &entries[random.below(entries.len())].1;
            mutate(&mut input, other, &mut random);
            let _told = Told { target, name, input: &input };
            check(&input);
        }
    }
    entries.len() + each * entries.len()
}

/// The folder of all corpora.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

/// The entries of a target's corpus by name, in order.
pub fn entries(target: &str) -> Vec<(String, Vec<u8>)> {
    let Ok(listing) = fs::read_dir(folder().join(target)) else { return Vec::new() };
    let mut found: Vec<_> = listing
        .map(|entry| {
            let entry = entry.expect("readable");
            let bytes = fs::read(entry.path()).expect("readable");
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    found.sort();
    found
}

/// Tells which input it was when the check panics.
struct Told<'a> {
    target: &'a str,
    name: &'a str,
    input: &'a [u8],
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: from {}: b\"{}\"", self.target, self.name, self.input.escape_ascii());
        }
    }
}

/// xorshift64*: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).expect("31 bits") % end.max(1)
    }
}

/// Pieces that matter to one parser or another.
const PIECES: &[&[u8]] = &[
    b"/",
    b"/..",
    b"/shared/",
    b"~/",
    b".cofferdam-",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud83d",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"=",
    b"\n",
    b"\t",
    b"\0",
    b"\x1b",
    b"\xe2\x80\xae",
    b"\xef\xbb\xbf",
    b"\xff",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"18446744073709551615",
    b"\xff\xff\xff\x7f",
    b"\x80\x80\x80\x80\x10",
    b"\"path\"",
    b"#@ tools/t.toml\n",
];

fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let end = (at + 1 + random.below(16)).min(input.len());
    match random.below(7) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 if at < input.len() => input[at] = random.next() as u8,
        2 => drop(input.drain(at..end)),
        3 => {
            let piece = input[at..end].to_vec();
            input.splice(at..at, piece);
        }
        4 => drop(input.splice(at..end, PIECES[random.below(PIECES.len())].iter().copied())),
        5 => drop(input.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
        _ => {
            let from = random.below(other.len() + 1);
            let to = (from + random.below(64)).min(other.len());
            input.splice(at..at, other[from..to].iter().copied());
        }
    }
    input.truncate(BYTES_MAX);
}

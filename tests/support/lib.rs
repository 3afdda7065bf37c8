//! What tests stand on: a gateway in a folder of its own, the real program, guests that attack it,
//! and servers on loopback: Telegram's, a model's, one of files. Fakes are at the network's edge
//! only.

pub mod discord;
mod exchange;
pub mod files;
pub mod filter;
pub mod guests;
pub mod home;
mod http;
pub mod kernel;
pub mod llm;
mod loopback;
pub mod manager;
pub mod namespace;
pub mod needs;
pub mod platform;
pub mod postgres;
pub mod program;
pub mod prometheus;
pub mod registry;
pub mod running;
pub mod runs;
pub mod s3;
pub mod samples;
pub mod serving;
pub mod telegram;
pub mod terminal;
pub mod tls;
pub mod tracer;
pub mod voice;
pub mod web;
pub mod wires;
pub mod workers;

/// Whether `needle` is anywhere in `bytes`. Compiled code of many megabytes is looked through by
/// every test that asks where a secret is.
pub fn holds(bytes: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(bytes, needle).is_some()
}

/// The files below a folder that contain these bytes.
pub fn containing(dir: &std::path::Path, bytes: &[u8]) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(containing(&path, bytes));
        } else if std::fs::read(&path).is_ok_and(|held| holds(&held, bytes)) {
            found.push(path);
        }
    }
    found
}

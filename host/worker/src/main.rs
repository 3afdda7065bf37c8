//! The process in which guests run. Started by the gateway with a socket as its standard input and
//! nothing else.
//!
//! The only program that knows wasmtime; it speaks to its gateway alone.
//! `cofferdam-worker embed FILE…` is for the gateway's build: it writes beside each component its
//! machine code and what it says of itself.

mod attachments;
mod bindings;
mod code;
mod command;
mod embed;
mod engine;
mod files;
mod function;
mod gateway;
mod http;
mod input;
mod last_words;
mod linking;
mod machine;
mod messaging;
mod outcome;
mod output;
mod reply;
mod scratch;
mod serve;
mod staging;
mod state;
mod stdio;
mod stubs;

use cofferdam_ipc::{Broken, Socket};
use std::os::fd::AsFd;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        None => worker(),
        Some((embed, files)) if embed == "embed" => embed::run(files),
        Some(_) => {
            eprintln!("this is a part of cofferdam, which starts it; run cofferdam");
            ExitCode::from(2)
        }
    }
}

fn worker() -> ExitCode {
    if cofferdam_confine::close_inherited().is_err() {
        return ExitCode::FAILURE;
    }
    let Ok(fd) = std::io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    match serve::serve(Socket::of_worker(fd)) {
        Ok(()) | Err(Broken::Closed) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

//! A WASI command that does what its first argument says: what strangers' commands do, and what
//! attackers' do. It knows nothing of the contract and has no dependency.

use std::fs;
use std::io::{Read, Write, stdin, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let all: Vec<String> = std::env::args().collect();
    let given = |at: usize| all.get(at).map(String::as_str).unwrap_or_default();
    let number = |at: usize| given(at).parse::<usize>().unwrap_or_default();
    match given(1) {
        "args" => all.iter().skip(2).for_each(|one| println!("{one:?}")),
        "count" => println!("{} {}", all.len(), all.iter().map(String::len).sum::<usize>()),
        "print" => print!("{}", given(2)),
        "bytes" => stdout().write_all(&[0xff, 0xfe, b'a']).expect("stdout takes it"),
        "stdin" => {
            let mut text = String::new();
            stdin().read_to_string(&mut text).expect("text");
            print!("{}:{text}", text.len());
        }
        "flood" => flood(number(2)),
        "complain" => {
            (0..number(2)).for_each(|n| eprintln!("complaint {n}"));
            return ExitCode::from(u8::from(given(3) != "ok"));
        }
        "exit" => {
            print!("{}", given(3));
            std::process::exit(i32::try_from(number(2)).unwrap_or(1))
        }
        "panic" => panic!("a bug in the command"),
        "read" => match fs::read_to_string(given(2)) {
            Ok(text) => print!("{text}"),
            Err(error) => return failed(&format!("{}: {error}", given(2))),
        },
        "write" => {
            if let Err(error) = fs::write(given(2), given(3)) {
                return failed(&format!("{}: {error}", given(2)));
            }
        }
        "environment" => {
            println!("{:?} {:?}", std::env::vars().collect::<Vec<_>>(), std::env::current_dir().ok())
        }
        "connect" => match std::net::TcpStream::connect("127.0.0.1:9") {
            Ok(_) => println!("connected"),
            Err(error) => println!("refused: {:?}", error.kind()),
        },
        "spin" => loop {
            std::hint::spin_loop();
        },
        other => return failed(&format!("no behaviour {other:?}")),
    }
    ExitCode::SUCCESS
}

fn failed(why: &str) -> ExitCode {
    eprintln!("commands: {why}");
    ExitCode::FAILURE
}

/// Writes so many mebibytes, whatever becomes of them.
fn flood(mebibytes: usize) {
    let piece = [b'x'; 64 << 10];
    for _ in 0..mebibytes * 16 {
        let _ = stdout().write_all(&piece);
    }
}

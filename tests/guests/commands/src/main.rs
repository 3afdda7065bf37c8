//! A WASI command that does what its first argument says: what strangers' commands do, and what
//! attackers' do. It knows nothing of the contract and has no dependency.

use std::fs;
use std::io::{Read, Write, stdin, stdout};
use std::path::Path;
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
            if let Some(folder) = Path::new(given(2)).parent() {
                let _ = fs::create_dir_all(folder);
            }
            if let Err(error) = fs::write(given(2), given(3)) {
                return failed(&format!("{}: {error}", given(2)));
            }
        }
        "fail_after" => {
            let _ = fs::write(given(2), "half");
            return failed("changed its mind");
        }
        // Writes, and then comes to no good end.
        "half" => {
            let _ = fs::write("/scratch/out.txt", "half");
            match given(2) {
                "panic" => panic!("a bug in the command"),
                "spin" => loop {
                    std::hint::spin_loop();
                },
                "flood" => flood(64),
                text => print!("{text}"),
            }
        }
        "blank" => {
            eprintln!();
            return ExitCode::FAILURE;
        }
        "tree" => match tree() {
            Ok(told) => println!("{told}"),
            Err(error) => return failed(&error.to_string()),
        },
        "greedy" => {
            // It does not care what becomes of them.
            let _ = fs::create_dir("/scratch/out");
            (0..number(2)).for_each(|n| drop(fs::write(format!("/scratch/out/{n:05}"), "x")));
        }
        "big" => {
            let _ = fs::write("/scratch/out.txt", vec![b'x'; number(2) << 20]);
        }
        #[allow(deprecated, reason = "it is the one that every platform has")]
        "links" => {
            let soft = fs::soft_link("/shared/secret", "/scratch/out.txt");
            let outward = fs::soft_link("../../etc/passwd", "/scratch/up");
            let hard = fs::hard_link("/shared/secret", "/scratch/out.txt");
            println!("{} {} {}", soft.is_ok(), outward.is_ok(), hard.is_ok());
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

/// Does to the scratch folder what programs do to folders; says what it finds.
fn tree() -> std::io::Result<String> {
    use std::io::{Seek, SeekFrom};
    fs::create_dir_all("/scratch/out/sub/deep")?;
    fs::write("/scratch/out/a.txt", "first")?;
    let mut file = fs::File::options().append(true).open("/scratch/out/a.txt")?;
    file.write_all(b" second")?;
    let mut file = fs::File::options().read(true).write(true).open("/scratch/out/a.txt")?;
    file.seek(SeekFrom::Start(1))?;
    file.write_all(b"I")?;
    fs::write("/scratch/out/sub/b.txt", "b")?;
    fs::write("/scratch/old", "moved")?;
    fs::rename("/scratch/old", "/scratch/out/sub/deep/c.txt")?;
    fs::write("/scratch/out/gone", "gone")?;
    fs::remove_file("/scratch/out/gone")?;
    let into_itself = fs::rename("/scratch/out/sub", "/scratch/out/sub/deep/x").is_ok();
    let above = fs::read("/scratch/../shared/secret").is_ok();
    fs::create_dir("/scratch/out/empty")?;
    fs::remove_dir("/scratch/out/empty")?;
    let full = fs::remove_dir("/scratch/out/sub").is_ok();
    let mut names: Vec<_> = fs::read_dir("/scratch/out")?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let text = fs::read_to_string("/scratch/out/a.txt")?;
    let len = fs::metadata("/scratch/out/a.txt")?.len();
    Ok(format!("{names:?} {text:?} {len} {into_itself} {above} {full}"))
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

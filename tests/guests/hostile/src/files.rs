//! Behaviours that use the granted mounts: reading, and changing them past the host's publisher.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::thread::sleep;
use std::time::Duration;

use cofferdam_sdk::serde_json::{Value, json};
use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};

use crate::{Arguments, Seen};

const NAMES_MAX: usize = 1000;

pub(crate) fn run(arguments: &Arguments) -> Option<Seen> {
    let act: fn(&str) -> io::Result<Value> = match arguments.name() {
        "read" => |path| {
            let mut file = File::open(path)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(json!({ "bytes": bytes.len(), "text": String::from_utf8(bytes).ok() }))
        },
        "list" => list,
        "list_endlessly" => list_endlessly,
        "stat" => {
            |path| Ok(json!({ "follow": stat(fs::metadata(path)), "leaf": stat(fs::symlink_metadata(path)) }))
        }
        "readlink" => |path| Ok(json!({ "target": fs::read_link(path)?.to_string_lossy() })),
        "write_direct" => |path| done(fs::write(path, "direct")),
        "append_direct" => |path| done(OpenOptions::new().append(true).open(path).map(drop)),
        "truncate_direct" => |path| done(OpenOptions::new().write(true).truncate(true).open(path).map(drop)),
        "create_direct" => |path| done(OpenOptions::new().write(true).create_new(true).open(path).map(drop)),
        "set_len_direct" => |path| done(File::open(path)?.set_len(0)),
        "mkdir_direct" => |path| done(fs::create_dir(path)),
        "rename_direct" => |path| done(fs::rename(path, format!("{path}.renamed"))),
        "link_direct" => |path| done(fs::hard_link(path, format!("{path}.linked"))),
        "remove_direct" => |path| done(fs::remove_file(path).or_else(|_| fs::remove_dir(path))),
        "symlink_direct" => symlink,
        "hold_folder" => hold_folder,
        "preopens" => |_| {
            let names: Vec<String> = preopens::get_directories().into_iter().map(|(_, name)| name).collect();
            Ok(json!({ "preopens": names }))
        },
        _ => return None,
    };
    let path = match (arguments.name(), arguments.path()) {
        (_, Ok(path)) => path,
        ("preopens", Err(_)) => "",
        (_, Err(error)) => return Some(Err(error)),
    };
    Some(Ok(act(path).unwrap_or_else(|error| told(&error))))
}

fn list(path: &str) -> io::Result<Value> {
    let mut count = 0;
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        count += 1;
        if names.len() < NAMES_MAX {
            names.push(name);
        }
    }
    Ok(json!({ "count": count, "names": names }))
}

/// The same folder again and again, past `std`, which is slower.
fn list_endlessly(path: &str) -> io::Result<Value> {
    let Some((mount, rest)) = mount_of(path) else { return Err(io::ErrorKind::NotFound.into()) };
    let dir = mount.open_at(PathFlags::empty(), &rest, OpenFlags::DIRECTORY, DescriptorFlags::READ);
    let dir = dir.map_err(|code| io::Error::other(code.name()))?;
    loop {
        let entries = dir.read_directory().map_err(|code| io::Error::other(code.name()))?;
        while let Ok(Some(_)) = entries.read_directory_entry() {}
    }
}

fn stat(metadata: io::Result<fs::Metadata>) -> Value {
    match metadata {
        Ok(it) => {
            json!({ "file": it.is_file(), "directory": it.is_dir(), "link": it.is_symlink(), "bytes": it.len() })
        }
        Err(error) => told(&error),
    }
}

/// A link out of the mount, made past `std`, which has no stable way to make one here.
fn symlink(path: &str) -> io::Result<Value> {
    let Some((mount, rest)) = mount_of(path) else { return Err(io::ErrorKind::NotFound.into()) };
    Ok(match mount.symlink_at("../../etc/passwd", &rest) {
        Ok(()) => json!({ "done": true }),
        Err(code) => json!({ "error": code.name() }),
    })
}

/// Reads `inner` in the folder at `path`, holds the folder until it lies there no more, and reads
/// again.
fn hold_folder(path: &str) -> io::Result<Value> {
    let Some((mount, rest)) = mount_of(path) else { return Err(io::ErrorKind::NotFound.into()) };
    let dir = mount.open_at(PathFlags::empty(), &rest, OpenFlags::DIRECTORY, DescriptorFlags::READ);
    let dir = dir.map_err(|code| io::Error::other(code.name()))?;
    let before = inner(&dir);
    println!("holding");
    while mount.stat_at(PathFlags::empty(), &rest).is_ok() {
        sleep(Duration::from_millis(1));
    }
    Ok(json!({ "before": before, "after": inner(&dir) }))
}

fn inner(dir: &Descriptor) -> Value {
    let opened = dir.open_at(PathFlags::empty(), "inner", OpenFlags::empty(), DescriptorFlags::READ);
    match opened.and_then(|file| file.read(100, 0)) {
        Ok((bytes, _)) => json!({ "text": String::from_utf8_lossy(&bytes) }),
        Err(code) => json!({ "error": code.name() }),
    }
}

fn mount_of(path: &str) -> Option<(Descriptor, String)> {
    preopens::get_directories().into_iter().find_map(|(mount, name)| {
        let rest = path.strip_prefix(&name)?.strip_prefix('/')?.to_owned();
        Some((mount, rest))
    })
}

fn done(result: io::Result<()>) -> io::Result<Value> {
    result.map(|()| json!({ "done": true }))
}

fn told(error: &io::Error) -> Value {
    json!({ "error": format!("{:?}", error.kind()), "errno": error.raw_os_error() })
}

//! Behaviours that call `wasi:filesystem` past `std`, where the sandboxes of 2026 had their holes:
//! truncating by opening for reading, links and renames across mounts of different rights, trailing
//! slashes, times that overflow, lengths beyond everything.

use cofferdam_sdk::serde_json::{Value, json};
use wasip2::clocks::wall_clock::Datetime;
use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{
    Advice, Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags,
};
use wasip2::io::poll::poll;
use wasip2::random::insecure::get_insecure_random_bytes;

use crate::{Arguments, Seen};

pub(crate) fn run(arguments: &Arguments) -> Option<Seen> {
    let act: fn(&At<'_>) -> Result<Value, ErrorCode> = match arguments.name() {
        "open_truncating" => |at| at.open(OpenFlags::TRUNCATE, DescriptorFlags::READ),
        "open_truncating_to_write" => {
            |at| at.open(OpenFlags::TRUNCATE, DescriptorFlags::READ | DescriptorFlags::WRITE)
        }
        "open_creating" => |at| at.open(OpenFlags::CREATE, DescriptorFlags::READ),
        "open_creating_exclusively" => {
            |at| at.open(OpenFlags::CREATE | OpenFlags::EXCLUSIVE, DescriptorFlags::READ)
        }
        "open_to_write" => |at| at.open(OpenFlags::empty(), DescriptorFlags::WRITE),
        "open_plain" => |at| at.open(OpenFlags::empty(), DescriptorFlags::READ),
        "open_to_mutate" => |at| {
            let flags = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
            let dir = at.mount.open_at(PathFlags::empty(), at.rest, OpenFlags::DIRECTORY, flags)?;
            dir.create_directory_at("made").map(done)
        },
        // From a folder within the mount, which may not be left either.
        "open_from" => |at| {
            let dir = at.handle()?;
            let flags = (PathFlags::SYMLINK_FOLLOW, OpenFlags::empty(), DescriptorFlags::READ);
            dir.open_at(flags.0, at.text, flags.1, flags.2).and_then(|file| content(&file))
        },
        "link_across" => |at| at.mount.link_at(PathFlags::empty(), at.rest, &other(at)?, "linked").map(done),
        "link_from_other" => {
            |at| other(at)?.link_at(PathFlags::SYMLINK_FOLLOW, at.rest, &at.mount, "linked").map(done)
        }
        "rename_across" => |at| at.mount.rename_at(at.rest, &other(at)?, "renamed").map(done),
        "rename_from_other" => |at| other(at)?.rename_at(at.rest, &at.mount, "renamed").map(done),
        "link_to" => |at| at.mount.link_at(PathFlags::empty(), at.rest, &at.mount, at.text).map(done),
        "rename_to" => |at| at.mount.rename_at(at.rest, &at.mount, at.text).map(done),
        "symlink_to" => |at| at.mount.symlink_at(at.text, at.rest).map(done),
        "unlink" => |at| at.mount.unlink_file_at(at.rest).map(done),
        "rmdir" => |at| at.mount.remove_directory_at(at.rest).map(done),
        "mkdir" => |at| at.mount.create_directory_at(at.rest).map(done),
        "readlink_raw" => |at| at.mount.readlink_at(at.rest).map(|target| json!({ "target": target })),
        "stat_raw" => |at| at.mount.stat_at(PathFlags::empty(), at.rest).map(|it| json!({ "size": it.size })),
        "set_times" => |at| at.handle()?.set_times(beyond(), beyond()).map(done),
        "set_times_at" => {
            |at| at.mount.set_times_at(PathFlags::SYMLINK_FOLLOW, at.rest, beyond(), beyond()).map(done)
        }
        "set_times_now" => |at| at.handle()?.set_times(NewTimestamp::Now, NewTimestamp::Now).map(done),
        "set_size_beyond" => |at| at.handle()?.set_size(u64::MAX).map(done),
        "write_raw" => |at| at.handle()?.write(b"raw", 0).map(|bytes| json!({ "bytes": bytes })),
        "write_stream" => |at| at.handle()?.write_via_stream(0).map(|_| done(())),
        "append_stream" => |at| at.handle()?.append_via_stream().map(|_| done(())),
        "read_beyond" => |at| {
            at.handle()?
                .read(u64::MAX, u64::MAX)
                .map(|(bytes, end)| json!({ "bytes": bytes.len(), "end": end }))
        },
        "read_all_at_once" => |at| {
            let (bytes, end) = at.handle()?.read(u64::MAX, 0)?;
            Ok(json!({ "bytes": bytes.len(), "end": end }))
        },
        "read_stream" => streamed,
        "advise_beyond" => |at| at.handle()?.advise(u64::MAX, u64::MAX, Advice::WillNeed).map(done),
        "sync" => |at| at.handle().and_then(|file| file.sync().and_then(|()| file.sync_data())).map(done),
        "random_insecure" => return Some(Ok(random(arguments.bytes.unwrap_or(u64::MAX)))),
        _ => return None,
    };
    let path = match arguments.path() {
        Ok(path) => path,
        Err(error) => return Some(Err(error)),
    };
    let Some((mount, name, rest)) = mount_of(path) else {
        return Some(Ok(json!({ "error": "no-mount" })));
    };
    let at = At { mount, name, rest: &rest, text: arguments.text().unwrap_or_default() };
    Some(Ok(act(&at).unwrap_or_else(|code| json!({ "error": code.name() }))))
}

/// What a behaviour is done to.
struct At<'a> {
    mount: Descriptor,
    /// The mount's guest name.
    name: String,
    /// The path below the mount, as it was given.
    rest: &'a str,
    /// The text after the behaviour's name.
    text: &'a str,
}

impl At<'_> {
    fn handle(&self) -> Result<Descriptor, ErrorCode> {
        self.mount.open_at(PathFlags::empty(), self.rest, OpenFlags::empty(), DescriptorFlags::READ)
    }

    fn open(&self, open: OpenFlags, flags: DescriptorFlags) -> Result<Value, ErrorCode> {
        content(&self.mount.open_at(PathFlags::SYMLINK_FOLLOW, self.rest, open, flags)?)
    }
}

/// Reads a file to its end through a stream, in the way that the text names, from the place that is
/// named after it.
fn streamed(at: &At<'_>) -> Result<Value, ErrorCode> {
    let (how, from) = at.text.split_once(' ').unwrap_or((at.text, "0"));
    let stream = at.handle()?.read_via_stream(from.parse().unwrap_or(u64::MAX))?;
    let (mut bytes, mut sum, mut longest) = (0_u64, 0_u64, 0);
    let end = loop {
        let read = match how {
            "unasked" => stream.read(1 << 20),
            "polled" => {
                poll(&[&stream.subscribe()]);
                stream.read(1000)
            }
            "skipped" => stream.skip(1 << 20).map(|skipped| vec![0; skipped as usize]),
            _ => stream.blocking_read(u64::MAX),
        };
        match read {
            Ok(piece) => {
                bytes += piece.len() as u64;
                sum += piece.iter().copied().map(u64::from).sum::<u64>();
                longest = longest.max(piece.len());
            }
            Err(end) => break end,
        }
    };
    let nothing = stream.read(0).is_err();
    Ok(json!({ "bytes": bytes, "sum": sum, "longest": longest, "end": format!("{end:?}"), "stays": nothing }))
}

fn content(file: &Descriptor) -> Result<Value, ErrorCode> {
    let (bytes, _) = file.read(1 << 10, 0)?;
    Ok(json!({ "text": String::from_utf8_lossy(&bytes) }))
}

/// A mount that is not the path's.
fn other(at: &At<'_>) -> Result<Descriptor, ErrorCode> {
    let mut all = preopens::get_directories().into_iter();
    all.find(|(_, name)| *name != at.name).map(|(mount, _)| mount).ok_or(ErrorCode::NoEntry)
}

fn mount_of(path: &str) -> Option<(Descriptor, String, String)> {
    preopens::get_directories().into_iter().find_map(|(mount, name)| {
        let rest = path.strip_prefix(&name)?.strip_prefix('/')?.to_owned();
        Some((mount, name, rest))
    })
}

/// A time that no clock of the host can hold.
fn beyond() -> NewTimestamp {
    NewTimestamp::Timestamp(Datetime { seconds: u64::MAX, nanoseconds: u32::MAX })
}

fn random(bytes: u64) -> Value {
    json!({ "bytes": get_insecure_random_bytes(bytes).len() })
}

fn done(_: ()) -> Value {
    json!({ "done": true })
}

//! Files and folders of the granted mounts by handle: every step is relative to a folder that is
//! open already, so a long walk names each entry once and costs the host one short look-up.
//! `std::fs` does the same with whole paths and more calls. It only reads, as the mounts do.

mod time;

use std::io::{self, Read, Seek, SeekFrom};

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ELOOP;
use crate::wasi::wasi::filesystem::preopens;
use crate::wasi::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link, wherever it leads.
    Symlink,
    /// A named pipe; never opened.
    Fifo,
    /// A socket; never opened.
    Socket,
    /// A block or character device; never opened.
    Device,
    /// Something else; never opened.
    Unknown,
}

/// What can be told of something without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Length in bytes; what the filesystem says for anything but a file.
    pub size: u64,
    /// When its content changed last, in RFC 3339 (UTC, whole seconds); none before 1970.
    pub modified: Option<String>,
}

/// Whether a symbolic link as the last part of a path is looked at itself or followed inside its
/// mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// What the link leads to.
    Follow,
    /// The link itself.
    Keep,
}

/// Something that was opened.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    File(File),
    /// A folder.
    Directory(Directory),
}

/// An open regular file. As [`Read`] and [`Seek`] it has a position of its own.
#[derive(Debug)]
pub struct File {
    handle: Descriptor,
    position: u64,
}

/// An open folder.
#[derive(Debug)]
pub struct Directory(Descriptor);

/// What is called for each entry of a folder, with its name and kind.
pub type Visit<'a> = dyn FnMut(io::Result<(&str, Kind)>) + 'a;

/// Opens what lies at a virtual path such as `/shared/a`, and says what it is. Links are followed
/// inside the mount.
///
/// # Errors
/// What the host refuses, for [`ToolError::on_path`](crate::ToolError::on_path): nothing there,
/// outside the mounts, a FIFO, a socket, a device.
pub fn open(path: &str) -> io::Result<(Opened, Stat)> {
    let (mount, below) = resolve(path)?;
    let handle =
        if below.is_empty() { mount } else { open_at(&mount, below, Links::Follow, OpenFlags::empty())? };
    let stat = handle.stat().map(of_stat).map_err(of_code)?;
    Ok(match stat.kind {
        Kind::Directory => (Opened::Directory(Directory(handle)), stat),
        _ => (Opened::File(File { handle, position: 0 }), stat),
    })
}

/// What lies at a virtual path, without opening it.
///
/// # Errors
/// As [`open`], except that nothing is refused for its kind.
pub fn stat(path: &str, links: Links) -> io::Result<Stat> {
    let (mount, below) = resolve(path)?;
    let found = if below.is_empty() { mount.stat() } else { mount.stat_at(links.flags(), below) };
    found.map(of_stat).map_err(of_code)
}

impl File {
    /// Bytes from `offset` on, at most `length`, and whether the file ended there. Fewer bytes than
    /// asked for do not mean the end; the host gives at most 1 MiB at once.
    ///
    /// # Errors
    /// What the disk says; `IsADirectory` where a folder took the file's place before it was
    /// opened.
    pub fn read_at(&self, offset: u64, length: u64) -> io::Result<(Vec<u8>, bool)> {
        self.handle.read(length, offset).map_err(of_code)
    }

    /// What can be told of the open file.
    ///
    /// # Errors
    /// What the disk says.
    pub fn stat(&self) -> io::Result<Stat> {
        self.handle.stat().map(of_stat).map_err(of_code)
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (bytes, _) = self.read_at(self.position, buffer.len() as u64)?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.stat()?.size.checked_add_signed(by),
        };
        self.position = moved.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

impl Directory {
    /// Opens the entry `name` as a file; a link is not followed.
    ///
    /// # Errors
    /// As [`open`]. A folder may open here and then fails to be read.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        let handle = open_at(&self.0, name, Links::Keep, OpenFlags::empty())?;
        Ok(File { handle, position: 0 })
    }

    /// Opens the entry `name` as a folder; a link is not followed.
    ///
    /// # Errors
    /// As [`open`]; `NotADirectory` for anything else.
    pub fn open_directory(&self, name: &str) -> io::Result<Self> {
        open_at(&self.0, name, Links::Keep, OpenFlags::DIRECTORY).map(Self)
    }

    /// What the entry `name` is, itself.
    ///
    /// # Errors
    /// When it is gone.
    pub fn stat(&self, name: &str) -> io::Result<Stat> {
        self.0.stat_at(Links::Keep.flags(), name).map(of_stat).map_err(of_code)
    }

    /// Calls `visit` for every entry in the folder's own order, which means nothing. An entry whose
    /// name is not UTF-8 is an error of kind `InvalidData` and the next one follows.
    ///
    /// # Errors
    /// When the folder cannot be read, or no further.
    pub fn each(&self, visit: &mut Visit<'_>) -> io::Result<()> {
        let entries = self.0.read_directory().map_err(of_code)?;
        loop {
            match entries.read_directory_entry() {
                Ok(None) => return Ok(()),
                Ok(Some(entry)) => {
                    let mut kind = of_type(entry.type_);
                    // Some filesystems do not say; one look more does.
                    if kind == Kind::Unknown {
                        kind = self.stat(&entry.name).map_or(kind, |stat| stat.kind);
                    }
                    visit(Ok((&entry.name, kind)));
                }
                Err(ErrorCode::IllegalByteSequence) => visit(Err(io::ErrorKind::InvalidData.into())),
                Err(code) => return Err(of_code(code)),
            }
        }
    }
}

impl Links {
    fn flags(self) -> PathFlags {
        match self {
            Self::Follow => PathFlags::SYMLINK_FOLLOW,
            Self::Keep => PathFlags::empty(),
        }
    }
}

/// The mount that a virtual path lies in, and the rest of the path.
fn resolve(path: &str) -> io::Result<(Descriptor, &str)> {
    let found = preopens::get_directories().into_iter().find_map(|(handle, mount)| {
        let below = path.strip_prefix(mount.as_str())?;
        (below.is_empty() || below.starts_with('/')).then(|| (handle, below.trim_start_matches('/')))
    });
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn open_at(dir: &Descriptor, name: &str, links: Links, open: OpenFlags) -> io::Result<Descriptor> {
    dir.open_at(links.flags(), name, open, DescriptorFlags::READ).map_err(of_code)
}

fn of_stat(stat: DescriptorStat) -> Stat {
    let modified = stat.data_modification_timestamp.map(|time| time::rfc3339(time.seconds));
    Stat { kind: of_type(stat.type_), size: stat.size, modified }
}

fn of_type(kind: DescriptorType) -> Kind {
    match kind {
        DescriptorType::RegularFile => Kind::File,
        DescriptorType::Directory => Kind::Directory,
        DescriptorType::SymbolicLink => Kind::Symlink,
        DescriptorType::Fifo => Kind::Fifo,
        DescriptorType::Socket => Kind::Socket,
        DescriptorType::BlockDevice | DescriptorType::CharacterDevice => Kind::Device,
        DescriptorType::Unknown => Kind::Unknown,
    }
}

/// The host's code as `std::fs` would report it.
fn of_code(code: ErrorCode) -> io::Error {
    use io::ErrorKind as Kind;
    match code {
        ErrorCode::NoEntry => Kind::NotFound,
        ErrorCode::NotDirectory => Kind::NotADirectory,
        ErrorCode::IsDirectory => Kind::IsADirectory,
        ErrorCode::Unsupported => Kind::Unsupported,
        ErrorCode::Access | ErrorCode::NotPermitted => Kind::PermissionDenied,
        ErrorCode::CrossDevice => Kind::CrossesDevices,
        ErrorCode::NameTooLong => Kind::InvalidFilename,
        ErrorCode::Invalid | ErrorCode::BadDescriptor => Kind::InvalidInput,
        ErrorCode::Loop => return io::Error::from_raw_os_error(ELOOP),
        other => return io::Error::other(other.name()),
    }
    .into()
}

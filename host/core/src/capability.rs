//! What a profile can grant: mounts with an access right, and interfaces beyond the inert baseline.

use crate::as_text::named_variants;
use crate::limits::ByteSize;
use crate::network::Network;
use serde::{Deserialize, Serialize};

named_variants! {
    /// What may be done in a mount.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Access {
        /// Copying out the very files that the call names for reading. The host copies; the guest
        /// has no such folder and sees no byte of it.
        CopyOut = "copy-out",
        /// Publishing whole files through `workspace-write`, without reading.
        WriteOnly = "write-only",
        /// Reading files and listing directories.
        ReadOnly = "read-only",
        /// Reading, and publishing whole files through `workspace-write`.
        AtomicWrite = "atomic-write",
    }
}

impl Access {
    /// Whether the guest opens files and lists directories there.
    pub const fn may_open(self) -> bool {
        matches!(self, Self::ReadOnly | Self::AtomicWrite)
    }

    /// Whether a path there may be judged for reading.
    pub const fn may_read(self) -> bool {
        !matches!(self, Self::WriteOnly)
    }

    /// Whether a path there may be judged for writing.
    pub const fn may_write(self) -> bool {
        matches!(self, Self::WriteOnly | Self::AtomicWrite)
    }

    /// Whether this right allows all that `other` allows.
    pub const fn covers(self, other: Self) -> bool {
        (self.may_open() || !other.may_open())
            && (self.may_read() || !other.may_read())
            && (self.may_write() || !other.may_write())
    }
}

/// A directory of the workspace as a guest sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountGrant {
    /// The guest's name of it: `/shared`, `/tmp` or `/vault`.
    pub guest: String,
    /// What may be done there.
    pub access: Access,
}

impl MountGrant {
    /// As a policy file writes it.
    pub fn spell(&self) -> String {
        format!("{{ guest = \"{}\", access = \"{}\" }}", self.guest, self.access.as_str())
    }
}

/// A folder of its own for each call: empty when it begins, gone when it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScratchGrant {
    /// The guest's name of it, such as `/scratch`.
    pub guest: String,
    /// Bytes in all its files.
    pub bytes: ByteSize,
    /// Files and folders in it.
    pub files: u32,
}

/// Bytes that a scratch folder may have: it is memory of the process in which the guest runs.
pub const SCRATCH_BYTES_MAX: ByteSize = ByteSize::mib(64);
/// Files and folders that one may have.
pub const SCRATCH_FILES_MAX: u32 = 10_000;

/// The mounts that a workspace has. Of the builtin tools `vault_copyto` alone has `/vault`.
pub const MOUNTS: &[&str] = &["/shared", "/tmp", "/vault"];

named_variants! {
    /// A host interface that a profile names to grant it.
    ///
    /// `workspace-write` is absent on purpose: it follows from a mount that may be written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Interface {
        /// The attachments of this turn.
        TurnAttachments = "turn-attachments",
        /// The attachments of the most recent message that has any.
        RecentAttachments = "recent-attachments",
        /// Adding files to the reply.
        ReplyAttachments = "reply-attachments",
        /// Writing to people, and waiting for what they reply.
        Messaging = "messaging",
    }
}

/// Everything that one call is granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants {
    /// Mounts within reach.
    pub mounts: Vec<MountGrant>,
    /// Interfaces within reach.
    pub interfaces: Vec<Interface>,
    /// The network within reach.
    pub network: Option<Network>,
    /// A folder of the call's own, if there is one.
    pub scratch: Option<ScratchGrant>,
}

impl Grants {
    /// No mount, no interface, no network and no folder.
    pub const NOTHING: Self =
        Self { mounts: Vec::new(), interfaces: Vec::new(), network: None, scratch: None };

    /// Every interface, every mount, to be written, and a network without anybody in it: what a
    /// component is linked with where nothing runs under it.
    pub fn all() -> Self {
        let mount = |guest: &&str| MountGrant { guest: (*guest).to_owned(), access: Access::AtomicWrite };
        Self {
            mounts: MOUNTS.iter().map(mount).collect(),
            interfaces: Interface::ALL.to_vec(),
            network: Some(Network::nobody()),
            scratch: None,
        }
    }

    /// The right on the mount of this guest name, if it is granted.
    pub fn access(&self, mount: &str) -> Option<Access> {
        self.mounts.iter().find(|m| m.guest == mount).map(|m| m.access)
    }

    /// Whether `interface` is within reach.
    pub fn allows(&self, interface: Interface) -> bool {
        self.interfaces.contains(&interface)
    }

    /// Whether the guest opens files of the mount of this guest name.
    pub fn may_open(&self, mount: &str) -> bool {
        self.access(mount).is_some_and(Access::may_open)
    }

    /// Whether any mount may be written, which is what grants `workspace-write`.
    pub fn may_write(&self) -> bool {
        self.mounts.iter().any(|m| m.access.may_write())
    }

    /// In words, for people: `/shared (atomic-write), /tmp (atomic-write); turn-attachments`.
    pub fn describe(&self) -> String {
        let mounts = self.mounts.iter().map(|m| format!("{} ({})", m.guest, m.access.as_str()));
        let scratch = self.scratch.iter();
        let scratch = scratch.map(|s| format!("{} (scratch, {}, {} files)", s.guest, s.bytes, s.files));
        let mounts: Vec<_> = mounts.chain(scratch).collect();
        let interfaces: Vec<_> = self.interfaces.iter().map(|i| i.as_str()).collect();
        let network = self.network.as_ref().map(Network::describe).unwrap_or_default();
        let parts = [mounts.join(", "), interfaces.join(", "), network];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { "nothing".into() } else { parts.join("; ") }
    }
}

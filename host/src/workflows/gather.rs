//! The attachments of an agent's task: patterns expanded, files opened and told by their bytes,
//! each thing once.
//!
//! `workflow check` and runs gather alike; a run stops at the first problem, a check tells of all.

use super::files::{AttachableFolder, ENTRIES_MAX, LocalError, LocalFile};
use super::types::AttachmentLimits;
use cofferdam_core::path::GuestPath;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_egress::{CheckedUrl, EgressError};
use cofferdam_warden::attachments::{Blob, sniff};
use cofferdam_workflow::attachment::{
    AttachmentSource, DeclaringScope, FolderPath, Kind, Origin, Pattern, Url,
};
use cofferdam_workflow::{PlannedAttachment, ReadyAttachment};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::os::unix::ffi::OsStrExt;

/// Attachments of one task, patterns expanded.
pub const ITEMS_MAX: usize = 100;

/// One attachment of the union, with the last name and meta that were given.
pub struct GatheredAttachment {
    /// Its type, or as it is written.
    pub kind: String,
    /// What it is; none while it waits.
    pub bytes: ByteSource,
    /// Its path below the declaring file's folder or in the workspace, or its address, as it is
    /// written.
    pub shown: String,
    /// Its name.
    pub name: Option<String>,
    /// Its meta.
    pub meta: Option<Map<String, Value>>,
    /// Told from the bytes; of files alone.
    pub mime_type: Option<String>,
    /// Who declares it.
    pub scopes: Vec<DeclaringScope>,
}

/// Where the bytes of an attachment are.
pub enum ByteSource {
    /// In a file.
    Local(Kind, LocalFile),
    /// At an address, which is passed on and not contacted.
    At(Kind, Url),
    /// At an address that is downloaded.
    ToDownload(Kind, Url),
    /// Downloaded.
    Downloaded(Kind, Url, Blob),
    /// Of a check: a file of the workspace that an earlier task may make, or what waits for tasks.
    /// `true` for a path.
    Unknown {
        /// Whether `shown` is a path.
        is_path: bool,
        /// Whether it waits for tasks.
        deferred: bool,
    },
}

impl ByteSource {
    /// Its address, where it has one.
    pub fn url(&self) -> Option<&Url> {
        match self {
            Self::At(_, url) | Self::ToDownload(_, url) | Self::Downloaded(_, url, _) => Some(url),
            Self::Local(..) | Self::Unknown { .. } => None,
        }
    }
}

/// Opens a file of the run's workspace; `None` where that is not looked at.
pub(super) type OpenWorkspace<'a> = &'a dyn Fn(&GuestPath) -> Option<Result<LocalFile, ToolError>>;

/// What gathering needs, and what was gathered.
pub struct Gather<'a> {
    /// Of the workflow's file.
    folder: &'a AttachableFolder,
    limits: &'a AttachmentLimits,
    workspace: OpenWorkspace<'a>,
    /// The union as it grows: each thing once, at its first place.
    items: Vec<GatheredAttachment>,
    /// By type and key: where a thing is. Bytes, since two paths that are no text would be alike as
    /// text.
    places: HashMap<(Kind, Vec<u8>), usize>,
    problems: Vec<ToolError>,
    /// Entries of folders that may still be looked at.
    left: usize,
    /// By declaration: whether anything matched, and the patterns.
    matched: BTreeMap<usize, (bool, Vec<String>)>,
}

impl From<LocalError> for ToolError {
    fn from(error: LocalError) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}

impl<'a> Gather<'a> {
    /// Gathers nothing yet.
    pub fn new(
        folder: &'a AttachableFolder,
        limits: &'a AttachmentLimits,
        workspace: OpenWorkspace<'a>,
    ) -> Self {
        let (items, places, problems, matched) = Default::default();
        Self { folder, limits, workspace, items, places, problems, left: ENTRIES_MAX, matched }
    }

    /// The union of what was gathered, in order, and everything that is wrong with it.
    pub fn into_gathered(mut self) -> (Vec<GatheredAttachment>, Vec<ToolError>) {
        if self.is_overfull() {
            let message = format!("the task has more than {ITEMS_MAX} attachments; write narrower patterns");
            self.problems.push(ToolError { code: ErrorCode::TooLarge, message });
        }
        for (_, patterns) in self.matched.values().filter(|(matched, _)| !matched) {
            let message = format!("no file matches {}", patterns.join(", "));
            self.problems.push(ToolError { code: ErrorCode::NotFound, message });
        }
        (self.items, self.problems)
    }

    /// Whether it has more than a task may have: then nothing else is gathered.
    fn is_overfull(&self) -> bool {
        self.items.len() > ITEMS_MAX
    }

    /// Gathers what has everything put in.
    pub fn gather(&mut self, ready: &ReadyAttachment) {
        if self.is_overfull() {
            return;
        }
        let taken = match &ready.item.source {
            AttachmentSource::Url(url) => self.take_address(url, ready),
            AttachmentSource::Workspace(path) => {
                self.matched.entry(ready.group).or_default().0 = true;
                self.take_of_workspace(path, ready)
            }
            AttachmentSource::File(path) => {
                // Among patterns it is one that must be there, and so matches.
                self.matched.entry(ready.group).or_default().0 = true;
                self.take_file(path, ready)
            }
            AttachmentSource::Pattern(pattern) => self.take_matching(pattern, ready),
        };
        self.problems.extend(taken.err());
    }

    fn take_address(&mut self, url: &Url, ready: &ReadyAttachment) -> Result<(), ToolError> {
        let (kind, is_downloaded) = (ready.item.kind, ready.item.is_downloaded());
        if is_downloaded {
            CheckedUrl::parse(url.as_written(), &self.limits.private_hosts).map_err(EgressError::from)?;
        }
        let bytes = ByteSource::At(kind, url.clone());
        let found = GatheredAttachment::from_ready(ready, url.as_written().to_owned(), bytes);
        let merged = self.add(found, Some((kind, url.key().into_bytes())));
        if is_downloaded {
            // Anyone who of its declarations asks for that.
            merged.bytes = ByteSource::ToDownload(kind, url.clone());
        }
        Ok(())
    }

    fn take_matching(&mut self, pattern: &Pattern, ready: &ReadyAttachment) -> Result<(), ToolError> {
        let found = self.folder.open_below(&ready.folder)?.find_matching(pattern, &mut self.left)?;
        let matched = self.matched.entry(ready.group).or_default();
        matched.0 |= !found.is_empty();
        matched.1.push(format!("`{}`", one_line(&pattern.to_string(), 200)));
        for path in found {
            if self.is_overfull() {
                break;
            }
            if let Err(problem) = self.take_file(&path, ready) {
                self.problems.push(problem);
            }
        }
        Ok(())
    }

    fn take_file(&mut self, path: &FolderPath, ready: &ReadyAttachment) -> Result<(), ToolError> {
        let local = self.folder.open_below(&ready.folder)?.file(path)?;
        self.add_file(local, path.to_string(), ready)
    }

    fn take_of_workspace(&mut self, path: &GuestPath, ready: &ReadyAttachment) -> Result<(), ToolError> {
        if let Some(local) = (self.workspace)(path).transpose()? {
            return self.add_file(local, path.to_string(), ready);
        }
        let unknown = ByteSource::Unknown { is_path: true, deferred: false };
        let found = GatheredAttachment::from_ready(ready, path.to_string(), unknown);
        self.add(found, Some((ready.item.kind, format!("workspace {path}").into_bytes())));
        Ok(())
    }

    /// Adds a thing. The key is the same for two of the same type that are the same; without one it
    /// is no other's equal. A name or meta that is not given changes nothing. What it has become
    /// comes back.
    fn add(&mut self, found: GatheredAttachment, key: Option<(Kind, Vec<u8>)>) -> &mut GatheredAttachment {
        let next = self.items.len();
        let place = key.map_or(next, |key| *self.places.entry(key).or_insert(next));
        if place == next {
            self.items.push(found);
            return &mut self.items[next];
        }
        let item = &mut self.items[place];
        item.name = found.name.or(item.name.take());
        item.meta = found.meta.or(item.meta.take());
        for scope in found.scopes {
            if !item.scopes.contains(&scope) {
                item.scopes.push(scope);
            }
        }
        item
    }

    /// Of a check: adds what waits as it is written, no other's equal.
    pub fn defer(&mut self, planned: &PlannedAttachment) {
        if self.is_overfull() {
            return;
        }
        let is_path = matches!(planned.origin, Origin::Path | Origin::Paths);
        // What waits may match, so what matched nothing so far is no problem yet.
        self.matched.entry(planned.group).or_default().0 = true;
        let found = GatheredAttachment {
            kind: planned.display_kind().to_owned(),
            bytes: ByteSource::Unknown { is_path, deferred: true },
            shown: planned.display_source().to_owned(),
            name: planned.display_name().map(str::to_owned),
            meta: planned.display_meta().and_then(|meta| meta.as_object().cloned()),
            mime_type: None,
            scopes: vec![planned.scope],
        };
        self.add(found, None);
    }

    /// Adds an open file that is as large and of a type as it may be.
    fn add_file(
        &mut self,
        mut local: LocalFile,
        shown: String,
        ready: &ReadyAttachment,
    ) -> Result<(), ToolError> {
        let kind = ready.item.kind;
        let quoted = format!("`{}`", one_line(&shown, 200));
        if local.bytes > self.limits.max_bytes {
            let (bytes, max) = (local.bytes, self.limits.max_bytes);
            let message =
                format!("{quoted} has {bytes} bytes, and [attachments] max_download_size_bytes is {max}");
            return Err(ToolError { code: ErrorCode::TooLarge, message });
        }
        let mime_type = sniff(&mut local.file);
        self.limits.check_type(kind, &mime_type, &quoted)?;
        let key = (kind, local.real.as_os_str().as_bytes().to_vec());
        let found = GatheredAttachment::from_ready(ready, shown, ByteSource::Local(kind, local));
        self.add(GatheredAttachment { mime_type: Some(mime_type), ..found }, Some(key));
        Ok(())
    }
}

impl GatheredAttachment {
    /// One as it is declared.
    fn from_ready(ready: &ReadyAttachment, shown: String, bytes: ByteSource) -> Self {
        let item = &ready.item;
        Self {
            kind: item.kind.name().to_owned(),
            bytes,
            shown,
            name: item.name.clone(),
            meta: item.meta.clone(),
            mime_type: None,
            scopes: vec![ready.scope],
        }
    }
}

impl AttachmentLimits {
    /// Refuses a detected type that an attachment of this type may not be.
    pub(super) fn check_type(&self, kind: Kind, mime_type: &str, quoted: &str) -> Result<(), ToolError> {
        if self.allowed.is_allowed(kind, mime_type) {
            return Ok(());
        }
        let (name, may) = (kind.name(), self.allowed.patterns(kind).join(", "));
        let message = format!(
            "{quoted} is {mime_type}, and an attachment of type {name} may be {may}; write another type, or change \
             [attachments] allowed_mime_types"
        );
        Err(ToolError { code: ErrorCode::AttachmentUnavailable, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn what_is_the_same_is_one_item_at_its_first_place_with_the_last_words() {
        let folder = AttachableFolder::open(Path::new("")).expect("the current one");
        let limits = AttachmentLimits::default();
        let workspace = |_: &GuestPath| None;
        let mut gather = Gather::new(&folder, &limits, &workspace);
        let meta = |n: u32| json!({ "n": n }).as_object().cloned();
        let name = |text: &str| Some(text.to_owned());
        let mut add = |shown: &str,
                       key: Option<(Kind, &str)>,
                       (name, meta): (Option<String>, Option<Map<String, Value>>),
                       scope: DeclaringScope| {
            let bytes = ByteSource::Unknown { is_path: true, deferred: false };
            let (kind, shown, scopes) = (String::new(), shown.to_owned(), vec![scope]);
            let found = GatheredAttachment { kind, bytes, shown, name, meta, mime_type: None, scopes };
            gather.add(found, key.map(|(kind, key)| (kind, key.as_bytes().to_vec())));
        };
        add("a", Some((Kind::Image, "k1")), (name("first"), meta(1)), DeclaringScope::Task);
        add("b", Some((Kind::Image, "k2")), (None, None), DeclaringScope::Task);
        add("c", Some((Kind::Image, "k1")), (None, meta(2)), DeclaringScope::Agent);
        add("d", Some((Kind::Pdf, "k1")), (None, None), DeclaringScope::Agent);
        add("e", Some((Kind::Image, "k2")), (name("last"), None), DeclaringScope::Action);
        add("f", None, (None, None), DeclaringScope::Action);
        add("g", None, (None, None), DeclaringScope::Action);
        let merged = gather.items;
        let things: Vec<_> = merged
            .iter()
            .map(|item| (item.shown.as_str(), item.name.as_deref(), item.scopes.len()))
            .collect();
        let expected =
            [("a", Some("first"), 2), ("b", Some("last"), 2), ("d", None, 1), ("f", None, 1), ("g", None, 1)];
        assert_eq!(things, expected);
        assert_eq!(merged[0].meta, meta(2));
    }
}

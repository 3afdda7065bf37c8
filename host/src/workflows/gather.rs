//! The attachments of an agent's task: patterns expanded, files opened and told by their bytes,
//! each thing once.
//!
//! `workflow check` and runs gather alike; a run stops at the first problem, a check tells of all.

use super::files::{AttachableFolder, LocalError, LocalFile};
use super::types::AttachmentLimits;
use cofferdam_core::path::GuestPath;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_egress::{CheckedUrl, EgressError};
use cofferdam_warden::attachments::{Blob, sniff};
use cofferdam_workflow::attachment::{
    AttachmentItem, AttachmentMerge, AttachmentSource, DeclaringScope, FolderPath, Kind, LocalPath, Pattern,
    Url,
};
use cofferdam_workflow::{PlannedAttachment, ReadyAttachment};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Attachments of one task, patterns expanded.
pub const ITEMS_MAX: usize = 100;

/// An attachment as it is gathered.
pub enum PlannedBytes<'a> {
    /// With everything put in.
    Ready(Box<ReadyAttachment>),
    /// Of a check: it waits for tasks.
    Deferred(&'a PlannedAttachment),
}

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

/// Opens a file of the run's workspace; `None` where that is not looked at.
pub(super) type OpenWorkspace<'a> = &'a dyn Fn(&GuestPath) -> Option<Result<LocalFile, ToolError>>;

/// What gathering needs.
pub struct Gather<'a> {
    /// The folder of the workflow's file.
    pub folder: &'a AttachableFolder,
    /// What attachments may be.
    pub limits: &'a AttachmentLimits,
    /// The run's workspace.
    pub workspace: OpenWorkspace<'a>,
}

/// An attachment that is about to be merged.
struct FoundAttachment {
    kind: String,
    bytes: ByteSource,
    shown: String,
    mime_type: Option<String>,
}

/// The union as it grows.
struct AttachmentUnion {
    merge: AttachmentMerge<FoundAttachment>,
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

impl Gather<'_> {
    /// The union of these in order, and everything that is wrong with them.
    pub fn gather(&self, planned: Vec<PlannedBytes<'_>>) -> (Vec<GatheredAttachment>, Vec<ToolError>) {
        let mut union = AttachmentUnion {
            merge: AttachmentMerge::default(),
            problems: Vec::new(),
            left: super::files::ENTRIES_MAX,
            matched: BTreeMap::new(),
        };
        for one in planned {
            match one {
                PlannedBytes::Ready(ready) => self.take(*ready, &mut union),
                PlannedBytes::Deferred(planned) => defer(planned, &mut union),
            }
            if union.merge.len() > ITEMS_MAX {
                let message =
                    format!("the task has more than {ITEMS_MAX} attachments; write narrower patterns");
                union.problems.push(ToolError { code: ErrorCode::TooLarge, message });
                break;
            }
        }
        for (_, patterns) in union.matched.values().filter(|(matched, _)| !matched) {
            let message = format!("no file matches {}", patterns.join(", "));
            union.problems.push(ToolError { code: ErrorCode::NotFound, message });
        }
        let gathered = union.merge.finish().into_iter().map(|merged| GatheredAttachment {
            kind: merged.first.kind,
            bytes: merged.first.bytes,
            shown: merged.first.shown,
            name: merged.name,
            meta: merged.meta,
            mime_type: merged.first.mime_type,
            scopes: merged.scopes,
        });
        (gathered.collect(), union.problems)
    }

    fn take(&self, ready: ReadyAttachment, union: &mut AttachmentUnion) {
        let ReadyAttachment { scope, folder, group, item } = ready;
        let taken = match item.source.clone() {
            AttachmentSource::Url(url) => self.take_address(url, item, scope, &mut union.merge),
            AttachmentSource::Local(LocalPath::Workspace(path)) => {
                union.matched.entry(group).or_default().0 = true;
                self.take_of_workspace(&path, item, scope, union)
            }
            AttachmentSource::Local(LocalPath::File(path)) => {
                // Among patterns it is one that must be there, and so matches.
                union.matched.entry(group).or_default().0 = true;
                self.take_file(&folder, &path, (&item, scope), union)
            }
            AttachmentSource::Local(LocalPath::Pattern(pattern)) => {
                self.take_matching(&folder, &pattern, (&item, scope, group), union)
            }
        };
        union.problems.extend(taken.err());
    }

    fn take_address(
        &self,
        url: Url,
        item: AttachmentItem,
        scope: DeclaringScope,
        merge: &mut AttachmentMerge<FoundAttachment>,
    ) -> Result<(), ToolError> {
        let is_downloaded = item.is_downloaded();
        if is_downloaded {
            CheckedUrl::parse(url.as_written(), &self.limits.private_hosts).map_err(EgressError::from)?;
        }
        let found = FoundAttachment {
            kind: item.kind.name().to_owned(),
            shown: url.as_written().to_owned(),
            bytes: ByteSource::At(item.kind, url.clone()),
            mime_type: None,
        };
        let merged = merge.add(found, item.kind, Some(url.key()), (item.name, item.meta), scope);
        if is_downloaded {
            // Anyone who of its declarations asks for that.
            merged.first.bytes = ByteSource::ToDownload(item.kind, url);
        }
        Ok(())
    }

    fn take_matching(
        &self,
        folder: &FolderPath,
        pattern: &Pattern,
        (item, scope, group): (&AttachmentItem, DeclaringScope, usize),
        union: &mut AttachmentUnion,
    ) -> Result<(), ToolError> {
        let found = self.folder.open_below(folder)?.find_matching(pattern, &mut union.left)?;
        let matched = union.matched.entry(group).or_default();
        matched.0 |= !found.is_empty();
        matched.1.push(format!("`{}`", one_line(&pattern.to_string(), 200)));
        for path in found {
            if union.merge.len() > ITEMS_MAX {
                break;
            }
            if let Err(problem) = self.take_file(folder, &path, (item, scope), union) {
                union.problems.push(problem);
            }
        }
        Ok(())
    }

    fn take_file(
        &self,
        folder: &FolderPath,
        path: &FolderPath,
        (item, scope): (&AttachmentItem, DeclaringScope),
        union: &mut AttachmentUnion,
    ) -> Result<(), ToolError> {
        let local = self.folder.open_below(folder)?.file(path)?;
        self.add(local, path.to_string(), (item, scope), union)
    }

    fn take_of_workspace(
        &self,
        path: &GuestPath,
        item: AttachmentItem,
        scope: DeclaringScope,
        union: &mut AttachmentUnion,
    ) -> Result<(), ToolError> {
        if let Some(local) = (self.workspace)(path).transpose()? {
            return self.add(local, path.to_string(), (&item, scope), union);
        }
        let found = FoundAttachment {
            kind: item.kind.name().to_owned(),
            bytes: ByteSource::Unknown { is_path: true, deferred: false },
            shown: path.to_string(),
            mime_type: None,
        };
        let key = Some(format!("workspace {path}"));
        union.merge.add(found, item.kind, key, (item.name, item.meta), scope);
        Ok(())
    }

    /// Adds an open file that is as large and of a type as it may be.
    fn add(
        &self,
        mut local: LocalFile,
        shown: String,
        (item, scope): (&AttachmentItem, DeclaringScope),
        union: &mut AttachmentUnion,
    ) -> Result<(), ToolError> {
        let quoted = format!("`{}`", one_line(&shown, 200));
        if local.bytes > self.limits.max_bytes {
            let (bytes, max) = (local.bytes, self.limits.max_bytes);
            let message =
                format!("{quoted} has {bytes} bytes, and [attachments] max_download_size_bytes is {max}");
            return Err(ToolError { code: ErrorCode::TooLarge, message });
        }
        let mime_type = sniff(&mut local.file);
        self.limits.check_type(item.kind, &mime_type, &quoted)?;
        let key = Some(local.real.to_string_lossy().into_owned());
        let found = FoundAttachment {
            kind: item.kind.name().to_owned(),
            bytes: ByteSource::Local(item.kind, local),
            shown,
            mime_type: Some(mime_type),
        };
        union.merge.add(found, item.kind, key, (item.name.clone(), item.meta.clone()), scope);
        Ok(())
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

/// Of a check: as it is written, no other's equal.
fn defer(planned: &PlannedAttachment, union: &mut AttachmentUnion) {
    use cofferdam_workflow::attachment::Origin;
    let is_path = matches!(planned.origin, Origin::Path | Origin::Paths);
    let found = FoundAttachment {
        kind: planned.display_kind().to_owned(),
        bytes: ByteSource::Unknown { is_path, deferred: true },
        shown: planned.display_source().to_owned(),
        mime_type: None,
    };
    // What waits may match, so what matched nothing so far is no problem yet.
    union.matched.entry(planned.group).or_default().0 = true;
    let meta = planned.display_meta().and_then(|meta| meta.as_object().cloned());
    let told = (planned.display_name().map(str::to_owned), meta);
    union.merge.add(found, Kind::File, None, told, planned.scope);
}

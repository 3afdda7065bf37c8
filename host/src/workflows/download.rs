//! Attachments by address: fetched by the gateway's one egress, held without a name, told by their
//! bytes.

use super::gather::{ByteSource, GatheredAttachment};
use super::types::AttachmentLimits;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_egress::{self as egress, CheckedUrl, Egress, EgressError, RefusedAddress};
use cofferdam_warden::attachments::{Blob, BlobError, BlobStore, sniff};
use cofferdam_workflow::attachment::{AttachmentSource, Url};
use cofferdam_workflow::{PlannedWork, RunPlan};

/// Downloads what a task has by its address, one after the other. What failed leaves nothing, and
/// so does dropping this.
pub(super) async fn download_all(
    gathered: &mut [GatheredAttachment],
    limits: &AttachmentLimits,
    blobs: &BlobStore,
) -> Result<(), ToolError> {
    let mut held = 0;
    for one in gathered {
        let ByteSource::ToDownload(kind, url) = &one.bytes else { continue };
        let blob = download_one(url, held, limits, blobs).await?;
        held += blob.len();
        let (blob, mime_type) = run_blocking(move || {
            let mime_type = sniff(&mut blob.reader());
            (blob, mime_type)
        })
        .await?;
        limits.check_type(*kind, &mime_type, &format!("`{}`", url.redacted()))?;
        tracing::info!(url = url.redacted(), mime_type, bytes = blob.len(), "an attachment is downloaded");
        one.mime_type = Some(mime_type);
        one.bytes = ByteSource::Downloaded(*kind, url.clone(), blob);
    }
    Ok(())
}

/// One download; `held` bytes of the same task are there already.
async fn download_one(
    url: &Url,
    held: u64,
    limits: &AttachmentLimits,
    blobs: &BlobStore,
) -> Result<Blob, ToolError> {
    let egress = Egress::new(egress::FetchLimits {
        bytes_max: limits.max_bytes,
        time_max: limits.download_timeout.0,
        redirects_max: limits.max_redirects,
        named: limits.private_hosts.clone(),
        section: "attachments",
    });
    let mut body = egress.get(url.as_written()).await?;
    let mut writer = blobs.writer(ByteSize(limits.max_bytes));
    while let Some(piece) = body.next().await? {
        let total = held + writer.bytes_written() + piece.len() as u64;
        if let Some(quota) = limits.temp_dir_quota_bytes.filter(|quota| total > *quota) {
            let message = format!(
                "`{}`: with it the downloads of this task have more than [attachments] temp_dir_quota_bytes = {quota}; \
                 attach less in one task",
                url.redacted()
            );
            return Err(ToolError { code: ErrorCode::QuotaExceeded, message });
        }
        let (back, written) = run_blocking(move || {
            let written = writer.write(&piece);
            (writer, written)
        })
        .await?;
        writer = back;
        written.map_err(|error| storage_problem(url, &error))?;
    }
    Ok(writer.finish())
}

/// Work with the disk, which may be slow: nobody else waits for it.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| ToolError::cancelled())
}

fn storage_problem(url: &Url, error: &BlobError) -> ToolError {
    let code = match error {
        BlobError::OverLimit(..) => ErrorCode::TooLarge,
        BlobError::Spool(_) => ErrorCode::AttachmentUnavailable,
    };
    ToolError { code, message: format!("`{}`: {error}", url.redacted()) }
}

/// Refuses addresses that are never contacted since they are wrong on paper, also where their host
/// could be: their spelling, their scheme, a user in them. What is known of no address before its
/// task is checked then.
///
/// # Errors
/// What is refused of the first one.
pub fn check_addresses(plan: &RunPlan, limits: &AttachmentLimits) -> Result<(), ToolError> {
    for (task, work) in plan.workflow().tasks.iter().zip(&plan.tasks) {
        let PlannedWork::Agent(work) = work else { continue };
        for item in work.attachments.iter().filter_map(|one| one.item.as_ref()) {
            let AttachmentSource::Url(url) = &item.source else { continue };
            if !item.is_downloaded() {
                continue;
            }
            check_address(url, limits).map_err(|refused| {
                let message = format!("task {}: {refused}", task.id);
                ToolError { code: EgressError::from(refused).code(), message }
            })?;
        }
    }
    Ok(())
}

/// Refuses an address that is wrong on paper.
pub(super) fn check_address(url: &Url, limits: &AttachmentLimits) -> Result<(), RefusedAddress> {
    match CheckedUrl::parse(url.as_written(), &limits.private_hosts) {
        Err(refused) if refused.is_on_paper() => Err(refused),
        _ => Ok(()),
    }
}

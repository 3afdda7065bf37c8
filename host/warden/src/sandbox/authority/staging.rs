//! What a guest stages, plans and hands out, each held against the permit.

use super::{Authority, denied, no_such_file};
use crate::attachments::{Blob, BlobBytes};
use crate::publish::{PlannedChange, PublishError, STAGED_MAX};
use cofferdam_core::capability::Interface;
use cofferdam_core::entry::EntryCall;
use cofferdam_core::host_call::{
    ContentHash, Contents, Disposition, LINE_OVERHEAD_BYTES, Planning, ReplyFile, StagedId,
};
use cofferdam_core::message::{Address, OutgoingAttachment};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};

impl Authority {
    pub(super) fn attachment(&self, index: u32) -> Result<Blob, ToolError> {
        self.inputs.attachments.get(index).map(|(_, blob)| blob.clone())
    }

    pub(super) fn stage(&mut self, path: &str, disposition: Disposition) -> Result<StagedId, ToolError> {
        let path = self.judged_path(path)?;
        let disposition = match self.permit.entry() {
            // A command decides neither what is published nor over what.
            EntryCall::Command(call) => {
                let said = || denied(format!("{path} is the path of no output of this command"));
                call.disposition(path.as_str()).ok_or_else(said)?
            }
            EntryCall::Tool | EntryCall::Function(_) => disposition,
        };
        let disposition = self.as_approved(&path, disposition)?;
        if self.staged.len() >= STAGED_MAX {
            return Err(PublishError::StagedCount { path, limit: STAGED_MAX }.into());
        }
        let file = self.workspace()?.stage(&path, disposition, &self.budget)?;
        let id = StagedId(self.staged_ever);
        self.staged_ever += 1;
        self.staged.insert(id, file);
        Ok(id)
    }

    pub(super) fn write(&mut self, file: StagedId, bytes: &[u8]) -> Result<(), ToolError> {
        Ok(self.file(file)?.write(bytes)?)
    }

    pub(super) fn append_attachment(&mut self, file: StagedId, index: u32) -> Result<u64, ToolError> {
        let blob = self.attachment(index)?;
        let file = self.file(file)?;
        match blob.bytes() {
            BlobBytes::Memory(bytes) => file.append_bytes_known(bytes, blob.sha256()),
            BlobBytes::File(source) => file.append_file_known(source, blob.len(), blob.sha256()),
        }?;
        Ok(blob.len())
    }

    pub(super) fn append_file(&mut self, file: StagedId, path: &str) -> Result<ContentHash, ToolError> {
        let (path, links) = self.copyable(path)?;
        let staged = self.staged.get_mut(&file).ok_or_else(no_such_file)?;
        let facts = staged.append_file(&path, links, self.permit.expected_to_read(&path))?;
        Ok(ContentHash { bytes: facts.bytes, sha256: facts.sha256 })
    }

    pub(super) fn expect(&mut self, file: StagedId, sha256: &str) -> Result<(), ToolError> {
        let mut expected = [0; 32];
        hex::decode_to_slice(sha256, &mut expected)
            .map_err(|_| ToolError::new(ErrorCode::InvalidArguments, "what is expected is no SHA-256"))?;
        self.file(file)?.expect(expected);
        Ok(())
    }

    pub(super) fn seal(&mut self, file: StagedId) -> Result<ContentHash, ToolError> {
        let sealed = self.staged.remove(&file).ok_or_else(no_such_file)?.seal()?;
        let facts = sealed.facts();
        self.add_to_plan(vec![PlannedChange::Write(sealed)])?;
        Ok(ContentHash { bytes: facts.bytes, sha256: facts.sha256 })
    }

    pub(super) fn rename(
        &mut self,
        from: &str,
        to: &str,
        disposition: Disposition,
    ) -> Result<Planning, ToolError> {
        self.may_change_names()?;
        let (from, to) = (self.judged_path(from)?, self.judged_path(to)?);
        self.may_go(&from)?;
        let disposition = self.as_approved(&to, disposition)?;
        let (steps, summary) = self.workspace()?.plan_rename(&from, &to, disposition, &self.budget)?;
        self.add_to_plan(steps)?;
        Ok(summary)
    }

    pub(super) fn remove(&mut self, path: &str, contents: Contents) -> Result<Planning, ToolError> {
        self.may_change_names()?;
        let path = self.judged_path(path)?;
        self.may_go(&path)?;
        let step = self.workspace()?.plan_remove(&path, contents, &self.budget)?;
        let summary = step.summary();
        self.add_to_plan(vec![PlannedChange::Remove(step)])?;
        Ok(summary)
    }

    /// Adds steps to the plan. What was looked at by now is looked at again when each one lands.
    fn add_to_plan(&mut self, mut steps: Vec<PlannedChange>) -> Result<(), ToolError> {
        for step in &mut steps {
            step.expect_approved(|path| self.permit.expected(path))?;
        }
        Ok(self.plan.extend(steps)?)
    }

    pub(super) fn add_to_reply(
        &mut self,
        files: Vec<ReplyFile>,
        to: Address,
    ) -> Result<Vec<OutgoingAttachment>, ToolError> {
        if !self.permit.grants().allows(Interface::ReplyAttachments) {
            return Err(denied("nothing may be added to the reply here; the policy's profile grants it"));
        }
        if files.is_empty() {
            return Err(ToolError::new(ErrorCode::InvalidArguments, "no file is named; name at least one"));
        }
        let mut reply = self.inputs.reply.take().ok_or_else(|| denied("there is no reply here"))?;
        let added = reply.address(&to).and_then(|()| self.add(&mut reply, files));
        self.inputs.reply = Some(reply);
        added
    }

    pub(super) fn log(&mut self, line: &str) {
        // The guest's side counts too; this holds even if that side is not what it should be. An
        // empty line is one more in the log.
        match self.log_left.checked_sub(line.len() + LINE_OVERHEAD_BYTES) {
            Some(left) => {
                self.log_left = left;
                if let Some(printed) = &self.inputs.printed {
                    printed(&one_line(line, 1024));
                }
                // Not at the usual level: it may print what it reads.
                tracing::debug!(tool = self.permit.call().tool.as_str(), "guest: {}", one_line(line, 1024));
            }
            None => self.log_left = 0,
        }
    }
}

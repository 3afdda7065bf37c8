//! What a command has left in its scratch folder, handed to the gateway: staged at the judged paths
//! of its arguments, and published like any staged file once the call has succeeded.

use super::{ScratchFolder, ScratchNode};
use crate::gateway::{GatewayLink, expect_done, expect_reply};
use cofferdam_core::entry::CommandOutput;
use cofferdam_core::host_call::Request;
use cofferdam_core::lock::lock;
use cofferdam_core::tool::{ErrorCode, ToolError};
use serde_bytes::Bytes;
use std::sync::Arc;

/// Bytes of one write.
const PIECE_BYTES: usize = 1 << 20;

impl ScratchFolder {
    /// Stages these outputs, in order.
    ///
    /// # Errors
    /// `not_found` for a named file that was not written; what the gateway refuses.
    pub(crate) fn stage(
        self: &Arc<Self>,
        outputs: &[CommandOutput],
        gateway: &GatewayLink,
    ) -> Result<(), ToolError> {
        outputs.iter().try_for_each(|output| match output.name.strip_suffix('/') {
            Some(folder) => match self.find(folder) {
                Some(node @ ScratchNode::Folder(_)) => stage_below(&node, &output.path, output, gateway),
                // A folder without a file publishes nothing, and so does none.
                None => Ok(()),
                Some(ScratchNode::File(_)) => Err(self.missing_output(output, "is no folder")),
            },
            None => match self.find(&output.name) {
                Some(node @ ScratchNode::File(_)) => stage_below(&node, &output.path, output, gateway),
                Some(ScratchNode::Folder(_)) => Err(self.missing_output(output, "is a folder")),
                None => Err(self.missing_output(output, "was not written")),
            },
        })
    }

    fn missing_output(&self, output: &CommandOutput, said: &str) -> ToolError {
        let said = format!("{}/{} {said} by the command; nothing was changed", self.guest(), output.name);
        ToolError::new(ErrorCode::NotFound, said)
    }

    fn find(self: &Arc<Self>, name: &str) -> Option<ScratchNode> {
        name.split('/').try_fold(ScratchNode::Folder(self.clone()), |node, part| match node {
            ScratchNode::Folder(folder) => folder.get(part),
            ScratchNode::File(_) => None,
        })
    }
}

fn stage_below(
    node: &ScratchNode,
    path: &str,
    output: &CommandOutput,
    gateway: &GatewayLink,
) -> Result<(), ToolError> {
    match node {
        ScratchNode::Folder(folder) => {
            let entries: Vec<_> =
                lock(&folder.entries).iter().map(|(name, node)| (name.clone(), node.clone())).collect();
            entries
                .iter()
                .try_for_each(|(name, node)| stage_below(node, &format!("{path}/{name}"), output, gateway))
        }
        ScratchNode::File(file) => {
            let request = Request::Stage { path, disposition: output.disposition };
            let staged = gateway.ask(request, expect_reply!(Staged))?;
            for piece in lock(&file.bytes).chunks(PIECE_BYTES) {
                gateway.ask(Request::Write { file: staged, bytes: Bytes::new(piece) }, expect_done)?;
            }
            gateway.ask(Request::Seal(staged), expect_reply!(Taken)).map(drop)
        }
    }
}

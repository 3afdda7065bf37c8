//! One `tools/call`: from the client's words to a call of the toolbox, and from its answer to the
//! client's.

use crate::approving::{DeferredQuestion, Elicitation, name_call};
use crate::attached::{self, ATTACHMENTS_META_KEY};
use crate::holding::TurnFiles;
use crate::progress::ProgressReport;
use crate::requests::DirectAnswer;
use crate::server::{ServerState, client_key, is_stateless, take_raw_arguments};
use cofferdam_agent::tools::{Approver, CallRequest, follow_work};
use cofferdam_core::id::TurnId;
use cofferdam_core::text::{about, one_line};
use cofferdam_core::tool::{ErrorCode, ToolAnswer, ToolError};
use cofferdam_warden::attachments::Attachments;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, ErrorData,
    RequestMetaObject, ServerResult,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Steps of the check of one result: far more than any result of a builtin takes.
const RESULT_STEPS: u64 = 50_000_000;

/// Who asks the client's person; none where nobody can be asked. The second is the same where the
/// answer of the call asks.
type CallApprover = (Option<Arc<dyn Approver>>, Option<Arc<DeferredQuestion>>);

impl ServerState {
    pub(crate) async fn call(
        self: &Arc<Self>,
        params: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = params.name.to_string();
        let arguments = take_raw_arguments(&mut context).map_or_else(
            || Value::Object(params.arguments.clone().unwrap_or_default()).to_string(),
            |raw| raw.0.to_string(),
        );
        let attachments = self.attachments(&mut context).await?;
        // Last of what may refuse the call: a question is answered once.
        let (approver, deferred) = self.approver(&params, &arguments, &context)?;
        let token = context.meta.get_progress_token();
        let is_legacy = !is_stateless(&context);
        // All that is needed of them is taken, and a call may wait long for a person.
        context.meta = RequestMetaObject::new();
        drop(params);
        let direct = context.extensions.get::<DirectAnswer>().cloned();
        let closing = closing(&context);
        let progress = token.map(|token| ProgressReport::begin(context.peer.clone(), token, &tool, closing));
        let goes_on = deferred.as_ref().and_then(|deferred| deferred.turn.clone());
        let turn = goes_on.unwrap_or_else(|| TurnId::new(self.next_turn()));
        let asks_nobody = approver.is_none();
        let request = CallRequest {
            client: client_key(&context).map(|key| key.0),
            attachments,
            report: progress.as_ref().map(ProgressReport::reports),
            approver,
            cancel: context.ct.clone(),
            ..CallRequest::new(turn, self.caller(), tool.clone(), Ok(arguments))
        };
        let name = self.parts.toolbox.registry().resolve_name(&tool).into_owned();
        if let Some(direct) = direct
            && progress.is_none()
            && asks_nobody
        {
            let state = self.clone();
            let called = follow_work(async move {
                let result = state.run(&name, request).await?;
                Ok(answer_directly(&direct, result, is_legacy))
            });
            let failed = || ErrorData::internal_error("the gateway failed in this call; see its log", None);
            return called.await.unwrap_or_else(|_| Err(failed())).map(Into::into);
        }
        let result = self.run(&name, request).await;
        if let Some(progress) = progress {
            progress.end().await;
        }
        if let Some(deferred) = deferred
            && let Some(question) = deferred.question(&self.questions)
        {
            return Ok(question.into());
        }
        result.map(Into::into)
    }

    async fn run(&self, tool: &str, request: CallRequest) -> Result<CallToolResult, ErrorData> {
        let files = TurnFiles::begin(&self.parts.outgoing, &request.turn);
        let answer = self.parts.toolbox.call(request).await;
        files.end().await;
        answer.and_then(|answer| self.result(tool, answer)).or_else(failed)
    }

    fn approver(
        &self,
        params: &CallToolRequestParams,
        arguments: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallApprover, ErrorData> {
        if !context.client_capabilities().is_some_and(|client| has_forms(&client)) {
            return Ok((None, None));
        }
        if is_stateless(context) {
            let state = params.request_state.as_deref();
            let answers = params.input_responses.as_ref();
            let called = name_call(&params.name, arguments);
            let deferred = Arc::new(self.questions.resume(self.caller(), called, state, answers)?);
            return Ok((Some(deferred.clone()), Some(deferred)));
        }
        let (peer, caller, closing) = (context.peer.clone(), self.caller(), closing(context));
        Ok((Some(Arc::new(Elicitation { peer, caller, expires: self.parts.expires, closing })), None))
    }

    async fn attachments(&self, context: &mut RequestContext<RoleServer>) -> Result<Attachments, ErrorData> {
        let Some(sent) = context.meta.0.remove(ATTACHMENTS_META_KEY) else {
            return Ok(Attachments::default());
        };
        let (blobs, config) = (self.parts.blobs.clone(), self.parts.attachments.clone());
        tokio::task::spawn_blocking(move || attached::take(sent, &blobs, &config)).await.unwrap_or_else(
            |_| Err(ErrorData::internal_error("the gateway failed while it took the attachments", None)),
        )
    }

    /// The tool's own object, if it is what the tool's schema promises.
    fn result(&self, tool: &str, answer: ToolAnswer) -> Result<CallToolResult, ToolError> {
        let ToolAnswer { result, attachments, .. } = answer;
        for file in attachments {
            let (name, size) = (one_line(&file.name, 120), about(file.bytes));
            // A call stands alone: the channels have replies.
            tracing::warn!("not sent, since an MCP call has no reply: {name} ({}, {size})", file.mime_type);
        }
        if let Some((_, Some(schema))) = self.offer.get(tool)
            && let Err(unfit) = schema.check(&result, RESULT_STEPS)
        {
            let said = format!(
                "{tool} answered something else than its own schema promises, and nothing of that is told; what it \
                 changed stays changed: {unfit}"
            );
            return Err(ToolError::new(ErrorCode::InvalidOutput, said));
        }
        let text = ContentBlock::text(result.to_string());
        let mut told = CallToolResult::success(vec![text]);
        told.structured_content = Some(result);
        Ok(told)
    }
}

/// Cancelled when the client takes answers alone, and says nothing more. Over HTTP it is there all
/// the same.
fn closing(context: &RequestContext<RoleServer>) -> CancellationToken {
    context.extensions.get::<DirectAnswer>().map(DirectAnswer::closing).unwrap_or_default()
}

/// Has this thread tell the client what its call came to, as the library would. What is left for
/// the library to tell is dropped where that is done.
fn answer_directly(direct: &DirectAnswer, result: CallToolResult, is_legacy: bool) -> CallToolResult {
    let mut told = ServerResult::CallToolResult(result);
    if is_legacy {
        told.strip_result_type_for_legacy_peer();
        told.strip_non_object_output_for_legacy_peer();
    }
    let is_told = direct.answer(&told);
    match told {
        ServerResult::CallToolResult(result) if !is_told => result,
        _ => CallToolResult::success(Vec::new()),
    }
}

/// Whether the client can show its person a form. One that names no way has that one.
fn has_forms(client: &ClientCapabilities) -> bool {
    client.elicitation.as_ref().is_some_and(|ways| ways.form.is_some() || ways.url.is_none())
}

/// A refusal or failure as the client's model reads it: the code first. A tool that there is not is
/// a fault of the request.
fn failed(error: ToolError) -> Result<CallToolResult, ErrorData> {
    let said = error.to_string();
    match error.code {
        ErrorCode::UnknownTool => Err(ErrorData::invalid_params(said, None)),
        _ => Ok(CallToolResult::error(vec![ContentBlock::text(said)])),
    }
}

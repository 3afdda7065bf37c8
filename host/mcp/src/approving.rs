//! Approvals by elicitation: the client shows its person the very call, and the person's answer
//! decides. A client of the older era is asked while the call waits; one of the newer era gets the
//! question as the answer, and calls again with what its person said.

use async_trait::async_trait;
use cofferdam_agent::tools::{ApprovalRequest, Approver, Decision};
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::lock::lock;
use cofferdam_core::text::one_line;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, ErrorData, InputRequest, InputRequests, InputRequiredResult,
    InputResponses, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Questions of the newer era whose answers may still come; with more, the oldest is asked anew.
pub(crate) const QUESTIONS_MAX: usize = 256;
/// The one question of an answer that asks.
const QUESTION: &str = "approve";

/// Asks the client's person while the call waits.
pub(crate) struct Elicitation {
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) caller: Caller,
    pub(crate) expires: Duration,
    /// Cancelled when the client can answer nothing any more.
    pub(crate) closing: CancellationToken,
}

#[async_trait]
impl Approver for Elicitation {
    async fn decide(&self, approval: &ApprovalRequest, cancel: &CancellationToken) -> Decision {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(question(approval)));
        let mut sent = None;
        let asked = async {
            let options = PeerRequestOptions::with_timeout(self.expires);
            let question = self.peer.send_request_with_option(request, options).await?;
            sent = Some(question.id.clone());
            question.await_response().await
        };
        tokio::select! {
            // An answer counts that was the client's last word.
            biased;
            answer = asked => match answer {
                Ok(ClientResult::ElicitResult(answer)) => decision(&answer, &self.caller),
                Ok(_) => Decision::Unasked("the client's answer is none to an elicitation".into()),
                Err(ServiceError::Timeout { .. }) => Decision::Expired,
                Err(error) => {
                    // It may be the client's own words, of any length.
                    Decision::Unasked(one_line(&format!("the client did not ask: {error}"), 400))
                }
            },
            () = cancel.cancelled() => {
                self.withdraw_question(sent);
                Decision::Withdrawn
            }
            () = self.closing.cancelled() => {
                let why = "the client has closed the server's standard input, so it cannot answer";
                Decision::Unasked(why.to_owned())
            }
        }
    }
}

impl Elicitation {
    /// Tells the client that its person need not answer any more. Nobody waits for that: it may
    /// take nothing.
    fn withdraw_question(&self, sent: Option<RequestId>) {
        let Some(id) = sent else { return };
        let peer = self.peer.clone();
        let told = CancelledNotificationParam::new(Some(id), Some("the call was cancelled".to_owned()));
        tokio::spawn(async move {
            let _ = peer.notify_cancelled(told).await;
        });
    }
}

/// What a client calls: the tool by the name that it gave, and by their SHA-256 the arguments as it
/// wrote them.
pub(crate) fn name_call(tool: &str, arguments: &str) -> String {
    format!("{tool} {}", sha256_hex(arguments.as_bytes()))
}

/// Leaves the question for the answer of the call, or decides by what the client brought with it.
pub(crate) struct DeferredQuestion {
    /// The turn of the question that was answered: the call is the same one.
    pub(crate) turn: Option<TurnId>,
    caller: Caller,
    /// By [`name_call`].
    called: String,
    brought: Mutex<Option<(OpenQuestion, ElicitResult)>>,
    left: Mutex<Option<ApprovalRequest>>,
}

#[async_trait]
impl Approver for DeferredQuestion {
    async fn decide(&self, approval: &ApprovalRequest, _: &CancellationToken) -> Decision {
        let brought = lock(&self.brought).take();
        match brought {
            // Anything else was asked about files that are others now.
            Some((question, answer)) if question.sha256 == approval.sha256 => decision(&answer, &self.caller),
            _ => {
                *lock(&self.left) = Some(approval.clone());
                Decision::Unasked("the client asks its person and calls again".to_owned())
            }
        }
    }
}

impl DeferredQuestion {
    /// What to answer instead of the call's refusal, if a question was left.
    pub(crate) fn question(&self, questions: &OpenQuestions) -> Option<InputRequiredResult> {
        let approval = lock(&self.left).take()?;
        let request = InputRequest::Elicitation(ElicitRequest::new(question(&approval)));
        let state = questions.add(approval, self.called.clone())?;
        Some(InputRequiredResult::new(
            Some(InputRequests::from([(QUESTION.to_owned(), request)])),
            Some(state),
        ))
    }
}

/// A question that was handed out.
struct OpenQuestion {
    called: String,
    sha256: String,
    turn: TurnId,
    until: Instant,
}

/// Those of the newer era, by the state that their answers bring back. Each is answered once.
pub(crate) struct OpenQuestions {
    expires: Duration,
    open: Mutex<VecDeque<(String, OpenQuestion)>>,
}

impl OpenQuestions {
    pub(crate) fn new(expires: Duration) -> Self {
        Self { expires, open: Mutex::default() }
    }

    /// An approver for a call, with what the client brings: nothing at first.
    ///
    /// # Errors
    /// `-32602` for a state that no open question has.
    pub(crate) fn resume(
        &self,
        caller: Caller,
        called: String,
        state: Option<&str>,
        answers: Option<&InputResponses>,
    ) -> Result<DeferredQuestion, ErrorData> {
        let question = state.map(|state| self.take(state, &called)).transpose()?.flatten();
        let answer = answers.and_then(|answers| answers.get(QUESTION));
        let answer = answer.and_then(|answer| serde_json::from_value(answer.clone()).ok());
        let turn = question.as_ref().map(|question| question.turn.clone());
        Ok(DeferredQuestion {
            turn,
            caller,
            called,
            brought: Mutex::new(question.zip(answer)),
            left: Mutex::default(),
        })
    }

    /// Remembers a question; `None` without randomness, and then nobody is asked.
    fn add(&self, approval: ApprovalRequest, called: String) -> Option<String> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let state = hex::encode(bytes);
        let mut open = lock(&self.open);
        if open.len() >= QUESTIONS_MAX {
            open.pop_front();
        }
        let ApprovalRequest { sha256, turn, .. } = approval;
        let until = Instant::now() + self.expires;
        open.push_back((state.clone(), OpenQuestion { called, sha256, turn, until }));
        Some(state)
    }

    /// The question with this state. None where it was asked about another call: it stays open for
    /// that one's answer, and this call is a new one.
    fn take(&self, state: &str, called: &str) -> Result<Option<OpenQuestion>, ErrorData> {
        let now = Instant::now();
        let mut open = lock(&self.open);
        let at = open.iter().position(|(known, question)| known == state && now < question.until);
        let at = at.ok_or_else(|| {
            let said = "requestState belongs to no open question: it was answered, or waited too long, or is none of \
                        this server's; call again without it";
            ErrorData::invalid_params(said, None)
        })?;
        if open[at].1.called != called {
            return Ok(None);
        }
        Ok(open.remove(at).map(|(_, question)| question))
    }
}

/// The person at the client answers: accepting is approving, and nothing else is.
fn decision(answer: &ElicitResult, caller: &Caller) -> Decision {
    match answer.action {
        ElicitationAction::Accept => Decision::Approved(caller.clone()),
        _ => Decision::Denied(caller.clone()),
    }
}

fn question(approval: &ApprovalRequest) -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("Approve this call?\n{}", approval.text),
        // Nothing to fill in: the answer is to accept or to decline.
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::id::TurnId;

    fn approval(n: usize) -> ApprovalRequest {
        let turn = TurnId::new(format!("turn-{n}"));
        ApprovalRequest {
            call: turn.call(0),
            turn,
            caller: caller(),
            tool: "t".to_owned(),
            text: "what will happen".to_owned(),
            sha256: format!("{n:064x}"),
            remember: Vec::new(),
        }
    }

    fn caller() -> Caller {
        Caller { channel: "mcp".to_owned(), sender: "1".to_owned() }
    }

    fn called() -> String {
        name_call("t", "{}")
    }

    fn answer(questions: &OpenQuestions, state: &str) -> Result<Option<TurnId>, i32> {
        answer_of(called(), questions, state)
    }

    fn answer_of(called: String, questions: &OpenQuestions, state: &str) -> Result<Option<TurnId>, i32> {
        let returning = questions.resume(caller(), called, Some(state), None);
        returning.map(|returning| returning.turn).map_err(|error| error.code.0)
    }

    #[test]
    fn of_too_many_questions_the_oldest_is_asked_anew() {
        let questions = OpenQuestions::new(Duration::from_secs(600));
        let states: Vec<_> =
            (0..=QUESTIONS_MAX).map(|n| questions.add(approval(n), called()).expect("randomness")).collect();
        assert_eq!(answer(&questions, &states[0]), Err(-32602));
        for n in [1, QUESTIONS_MAX] {
            assert_eq!(answer(&questions, &states[n]), Ok(Some(TurnId::new(format!("turn-{n}")))));
            assert_eq!(answer(&questions, &states[n]), Err(-32602), "answered once");
        }
        // There is room again.
        let more = [0, 1].map(|n| questions.add(approval(n), called()).expect("randomness"));
        assert!(more.iter().chain([&states[2]]).all(|state| answer(&questions, state).is_ok()));
    }

    #[test]
    fn another_call_is_none_that_goes_on() {
        let questions = OpenQuestions::new(Duration::from_secs(600));
        let state = questions.add(approval(0), called()).expect("randomness");
        for other in [name_call("u", "{}"), name_call("t", r#"{"a":1}"#)] {
            assert_eq!(answer_of(other, &questions, &state), Ok(None));
        }
        assert_eq!(answer(&questions, &state), Ok(Some(TurnId::new("turn-0".to_owned()))));
    }

    #[test]
    fn a_question_waits_no_longer_than_it_may() {
        let questions = OpenQuestions::new(Duration::ZERO);
        let state = questions.add(approval(0), called()).expect("randomness");
        assert_eq!(answer(&questions, &state), Err(-32602));
        assert_eq!(answer(&questions, "made up"), Err(-32602));
    }
}

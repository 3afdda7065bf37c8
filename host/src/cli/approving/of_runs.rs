//! Approvals of calls of a run that is carried out here: `--approve`, or the one who sits at the
//! terminal, or nobody. What is asked goes to standard error: standard output is the run's one
//! line.

use super::{ApproveAll, TerminalQuestions};
use crate::cli::streaming::StreamedAnswer;
use crate::cli::typed::TypedLines;
use crate::config::Config;
use cofferdam_agent::tools::Approver;
use cofferdam_store::{Store, StoreError};
use std::io::IsTerminal;
use std::sync::Arc;
use tokio::io::BufReader;

pub(in crate::cli) struct RunApprovals {
    /// What calls are asked through; none where each that its policy asks about is refused.
    pub(in crate::cli) approver: Option<Arc<dyn Approver>>,
    /// What it asks at the terminal.
    questions: Option<TerminalQuestions>,
}

impl RunApprovals {
    /// The one who is here. Legal within a runtime.
    pub(in crate::cli) fn new(config: &Config, approve: bool) -> Result<Self, StoreError> {
        if approve {
            return Ok(Self { approver: Some(Arc::new(ApproveAll)), questions: None });
        }
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return Ok(Self { approver: None, questions: None });
        }
        let questions = TerminalQuestions::new(Store::in_memory()?, config.approvals.expires, 0);
        Ok(Self { approver: Some(questions.approver()), questions: Some(questions) })
    }

    /// What `running` comes to, while its questions are asked.
    pub(in crate::cli) async fn run_while_asking<T>(
        self,
        running: impl Future<Output = T>,
    ) -> std::io::Result<T> {
        let Some(mut questions) = self.questions else { return Ok(running.await) };
        let mut lines = TypedLines::into(BufReader::new(tokio::io::stdin()));
        questions
            .run_while_asking(running, &mut StreamedAnswer::nothing(), &mut std::io::stderr(), &mut lines)
            .await
    }
}

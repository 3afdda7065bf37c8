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

pub(in crate::cli) enum RunApprovals {
    /// Each call that its policy asks about is refused.
    Nobody,
    /// Each is approved, and told.
    AtOnce,
    /// Each is asked about.
    Terminal(Box<TerminalQuestions>),
}

impl RunApprovals {
    /// The one who is here. Legal within a runtime.
    pub(in crate::cli) fn new(config: &Config, approve: bool) -> Result<Self, StoreError> {
        let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        Ok(match (approve, is_terminal) {
            (true, _) => Self::AtOnce,
            (false, true) => {
                let (store, expires) = (Store::in_memory()?, config.approvals.expires);
                Self::Terminal(Box::new(TerminalQuestions::new(store, expires, 0)))
            }
            (false, false) => Self::Nobody,
        })
    }

    /// What calls are asked through.
    pub(in crate::cli) fn approver(&self) -> Option<Arc<dyn Approver>> {
        match self {
            Self::Nobody => None,
            Self::AtOnce => Some(Arc::new(ApproveAll)),
            Self::Terminal(questions) => Some(questions.approver()),
        }
    }

    /// What `running` comes to, while its questions are asked.
    pub(in crate::cli) async fn run_while_asking<T>(
        self,
        running: impl Future<Output = T>,
    ) -> std::io::Result<T> {
        let Self::Terminal(mut questions) = self else { return Ok(running.await) };
        let mut lines = TypedLines::into(BufReader::new(tokio::io::stdin()));
        questions
            .run_while_asking(running, &mut StreamedAnswer::nothing(), &mut std::io::stderr(), &mut lines)
            .await
    }
}

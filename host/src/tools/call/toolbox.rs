//! What calls pass through: the tools and the mechanisms behind them. It runs none.

use crate::bus::Requests;
use crate::tools::ledger::Ledger;
use crate::tools::{CallThreads, Registry};
use cofferdam_core::limits::ByteSize;
use cofferdam_warden::attachments::outgoing::Outgoing;
use cofferdam_warden::audit::AuditLog;
use cofferdam_warden::publish::Workspaces;
use cofferdam_warden::sandbox::Sandbox;
use std::sync::{Arc, PoisonError, RwLock};

/// Everything a call passes through.
pub struct Toolbox {
    pub(super) parts: Arc<Parts>,
    pub(super) threads: Arc<CallThreads>,
    /// Those of the toolbox that is in force now, which may be another one over the same mechanisms.
    in_force: Arc<RwLock<Arc<Parts>>>,
}

/// What a call on its thread needs.
pub(super) struct Parts {
    pub(super) registry: Registry,
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) workspaces: Arc<Workspaces>,
    pub(super) audit: Arc<AuditLog>,
    pub(super) outgoing: Outgoing,
    pub(super) requests: Arc<Requests>,
    pub(super) ledger: Ledger,
}

/// The mechanisms that calls need. Cheap to clone.
#[derive(Clone)]
pub struct Mechanisms {
    /// Where guests run.
    pub sandbox: Arc<Sandbox>,
    /// The tools' files.
    pub workspaces: Arc<Workspaces>,
    /// What is written down of every call.
    pub audit: Arc<AuditLog>,
    /// What calls add to replies.
    pub outgoing: Outgoing,
    /// The requests whose replies they are.
    pub requests: Arc<Requests>,
}

impl Toolbox {
    /// The tools over the mechanisms they need. The calls of one turn write `turn_bytes` at most.
    pub fn new(
        registry: Registry,
        mechanisms: Mechanisms,
        threads: Arc<CallThreads>,
        turn_bytes: ByteSize,
    ) -> Self {
        let Mechanisms { sandbox, workspaces, audit, outgoing, requests } = mechanisms;
        let ledger = Ledger::new(turn_bytes);
        let parts = Arc::new(Parts { registry, sandbox, workspaces, audit, outgoing, requests, ledger });
        let in_force = Arc::new(RwLock::new(parts.clone()));
        Self { parts, threads, in_force }
    }

    /// Other tools and limits over the same mechanisms and threads. What was begun with these goes on with them,
    /// apart from what waits for a person: that is judged by what is in force when it is approved.
    #[must_use]
    pub fn renewed(&self, registry: Registry, outgoing: Outgoing, turn_bytes: ByteSize) -> Self {
        let Parts { sandbox, workspaces, audit, requests, .. } = &*self.parts;
        let (sandbox, workspaces, audit) = (sandbox.clone(), workspaces.clone(), audit.clone());
        let requests = requests.clone();
        let ledger = Ledger::new(turn_bytes);
        let parts = Arc::new(Parts { registry, sandbox, workspaces, audit, outgoing, requests, ledger });
        Self { parts, threads: self.threads.clone(), in_force: self.in_force.clone() }
    }

    /// From here on this one is in force.
    pub fn enforce(&self) {
        *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = self.parts.clone();
    }

    /// The parts that are in force.
    pub(super) fn in_force(&self) -> Arc<Parts> {
        self.in_force.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The requests that calls may add to.
    pub fn requests(&self) -> &Arc<Requests> {
        &self.parts.requests
    }

    /// The tools there are.
    pub fn registry(&self) -> &Registry {
        &self.parts.registry
    }

    /// Has a worker ready for the first call of a tool, where users share their workspace.
    pub fn start_ahead(&self, tool: &str) {
        let Parts { registry, sandbox, workspaces, .. } = &*self.parts;
        if let Ok(tool) = registry.get(tool)
            && !workspaces.per_user()
        {
            sandbox.start_ahead(
                &tool.component,
                &tool.policy.profile,
                &tool.policy.grants,
                workspaces.usual(),
            );
        }
    }
}

//! What calls pass through: the tools, and the trusted core behind them. It runs none.

use crate::open_requests::Requests;
use crate::tools::{CallThreads, Registry};
use cofferdam_warden::calls::Warden;
use cofferdam_warden::sandbox::SandboxError;
use std::sync::{Arc, PoisonError, RwLock};

/// Everything a call passes through.
pub struct Toolbox {
    pub(super) parts: Arc<CallServices>,
    pub(super) threads: Arc<CallThreads>,
    /// Those of the toolbox that is in force now, which may be another one over the same trusted
    /// core.
    in_force: Arc<RwLock<Arc<CallServices>>>,
}

/// What a call on its thread needs.
pub(super) struct CallServices {
    pub(super) registry: Registry,
    pub(super) warden: Warden,
    pub(super) requests: Arc<Requests>,
}

impl Toolbox {
    /// The tools over the trusted core; `requests` are those that calls may add to.
    pub fn new(
        registry: Registry,
        warden: Warden,
        requests: Arc<Requests>,
        threads: Arc<CallThreads>,
    ) -> Self {
        let parts = Arc::new(CallServices { registry, warden, requests });
        let in_force = Arc::new(RwLock::new(parts.clone()));
        Self { parts, threads, in_force }
    }

    /// Other tools, over the trusted core with other limits and the same threads. What was begun
    /// with these goes on with them, apart from what waits for a person: that is judged by what is
    /// in force when it is approved.
    #[must_use]
    pub fn with_registry(&self, registry: Registry, warden: Warden) -> Self {
        let parts = Arc::new(CallServices { registry, warden, requests: self.parts.requests.clone() });
        Self { parts, threads: self.threads.clone(), in_force: self.in_force.clone() }
    }

    /// From here on this one is in force.
    pub fn enforce(&self) {
        *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = self.parts.clone();
    }

    /// The parts that are in force.
    pub(super) fn current(&self) -> Arc<CallServices> {
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

    /// Sees whether a worker starts, for the first call of a tool if that is there.
    ///
    /// # Errors
    /// [`SandboxError::Engine`] when none does.
    pub fn try_worker(&self, first: Option<&str>) -> Result<(), SandboxError> {
        let CallServices { registry, warden, .. } = &*self.parts;
        let tool = first.and_then(|first| registry.get(first).ok());
        warden.try_worker(tool.map(|tool| (&tool.component, &tool.policy)))
    }
}

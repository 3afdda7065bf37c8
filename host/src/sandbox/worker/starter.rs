//! The one thread that starts workers and sees them off: the kernel ties a worker's life to the thread that
//! started it, and a process that ends must be waited for.

use super::process::Worker;
use super::protocol::Kind;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// What a worker is started with.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    pub(super) kind: Kind,
    /// Guest names and folders of the mounts.
    pub(super) mounts: Vec<(String, Arc<OwnedFd>)>,
    /// The folder of the compile cache; none for a compiling worker.
    pub(super) cache: Option<Arc<OwnedFd>>,
}

/// Takes a worker, or why there is none.
pub(super) type Take = Box<dyn FnOnce(io::Result<Worker>) + Send>;

/// The way to the thread. It ends with the last of these.
pub(super) struct Starter(Sender<(Recipe, Take)>);

impl Starter {
    /// Starts the thread.
    pub(super) fn start() -> io::Result<Self> {
        let (orders, ordered) = channel();
        std::thread::Builder::new().name("workers".into()).spawn(move || run(&ordered))?;
        Ok(Self(orders))
    }

    /// Has a worker started and hands it to `take`, on that thread.
    pub(super) fn order(&self, recipe: Recipe, take: Take) {
        if let Err(refused) = self.0.send((recipe, take)) {
            (refused.0.1)(Err(io::Error::other("no worker can be started any more")));
        }
    }

    /// Has a worker started and waits for it.
    pub(super) fn wait_for(&self, recipe: Recipe) -> io::Result<Worker> {
        let (give, given) = channel();
        self.order(recipe, Box::new(move |worker| drop(give.send(worker))));
        given.recv().unwrap_or_else(|_| Err(io::Error::other("no worker can be started any more")))
    }
}

/// Processes that do not end are looked at this often.
const LOOK: Duration = Duration::from_millis(200);

fn run(orders: &Receiver<(Recipe, Take)>) {
    let (reaper, ending) = channel::<Child>();
    let mut dying: Vec<Child> = Vec::new();
    loop {
        dying.extend(ending.try_iter());
        dying.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        match orders.recv_timeout(LOOK) {
            Ok((recipe, take)) => take(Worker::start(recipe, &reaper)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

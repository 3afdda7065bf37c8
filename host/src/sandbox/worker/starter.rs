//! The one thread that starts workers and sees them off: the kernel ties a worker's life to the thread that
//! started it, and a process that ends must be waited for.

use super::pool::Folders;
use super::process::{Blank, Worker};
use super::protocol::Kind;
use crate::confine;
use cofferdam_core::counts::COUNTS;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, Sender, channel};
use std::time::Duration;

/// What a worker is started with: for as long as it lives it reaches this and nothing else.
#[derive(Clone, Debug)]
pub(super) struct Recipe {
    pub(super) kind: Kind,
    /// Whose calls it runs; of one that runs none nothing.
    pub(super) profile: String,
    /// Guest names and folders of the mounts.
    pub(super) mounts: Folders,
    /// The folder of the compile cache; none for a compiling worker.
    pub(super) cache: Option<Arc<OwnedFd>>,
}

impl Recipe {
    /// Whether a worker that was started with `other` serves as well: for the same profile, with the very same
    /// folders. They are open as long as either recipe is there, so nothing else can stand for them.
    pub(super) fn is_for_the_same(&self, other: &Self) -> bool {
        let same = |((a, dir), (b, other)): (&(String, _), &(String, _))| a == b && Arc::ptr_eq(dir, other);
        self.kind == other.kind
            && self.profile == other.profile
            && self.mounts.len() == other.mounts.len()
            && self.mounts.iter().zip(&other.mounts).all(same)
    }
}

/// Takes a worker, or why there is none.
pub(super) type Take = Box<dyn FnOnce(io::Result<Worker>) + Send>;

struct Order {
    recipe: Recipe,
    ready: Box<dyn FnOnce() -> Option<Worker> + Send>,
    take: Take,
}

/// What the thread is told.
enum Message {
    Start(Order),
    /// From now on a process is to be there before anybody wants a worker.
    KeepSpare,
}

/// The way to the thread. It ends with the last of these.
pub(super) struct Starter(Sender<Message>);

impl Starter {
    /// Starts the thread, whose workers are confined as `isolation` demands.
    pub(super) fn start(isolation: confine::Config) -> io::Result<Self> {
        let (orders, ordered) = channel();
        std::thread::Builder::new().name("workers".into()).spawn(move || run(&ordered, isolation))?;
        Ok(Self(orders))
    }

    /// Has a worker started and hands it to `take`, on that thread.
    pub(super) fn order(&self, recipe: Recipe, take: Take) {
        self.send(Order { recipe, ready: Box::new(|| None), take });
    }

    /// Has a process ready for the next worker, whomever that will serve.
    pub(super) fn keep_spare(&self) {
        // A thread that is gone starts no worker either, which whoever wants one is told.
        let _ = self.0.send(Message::KeepSpare);
    }

    fn send(&self, order: Order) {
        if let Err(SendError(Message::Start(refused))) = self.0.send(Message::Start(order)) {
            (refused.take)(Err(io::Error::other("no worker can be started any more")));
        }
    }

    /// Has a worker started and waits for it; `ready` is asked first when its turn comes, because one that
    /// was ordered before may serve.
    pub(super) fn wait_for(
        &self,
        recipe: Recipe,
        ready: impl FnOnce() -> Option<Worker> + Send + 'static,
    ) -> io::Result<Worker> {
        let (give, given) = channel();
        let order =
            Order { recipe, ready: Box::new(ready), take: Box::new(move |worker| drop(give.send(worker))) };
        self.send(order);
        given.recv().unwrap_or_else(|_| Err(io::Error::other("no worker can be started any more")))
    }
}

/// Processes that do not end are looked at this often.
const LOOK: Duration = Duration::from_millis(200);

fn run(orders: &Receiver<Message>, isolation: confine::Config) {
    let (reaper, ending) = channel::<Child>();
    let mut dying: Vec<Child> = Vec::new();
    let mut spare = Spare::default();
    loop {
        dying.extend(ending.try_iter());
        dying.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        match orders.recv_timeout(LOOK) {
            Ok(Message::Start(Order { recipe, ready, take })) => {
                let started = |blank| Worker::start(blank, recipe, isolation, &reaper);
                let start = || counted(spare.take().and_then(started));
                take(ready().map_or_else(start, Ok));
            }
            Ok(Message::KeepSpare) => spare.is_kept = true,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        spare.refill();
    }
}

fn counted(started: io::Result<Worker>) -> io::Result<Worker> {
    COUNTS.workers.started.add(u64::from(started.is_ok()));
    COUNTS.workers.fail.store(started.is_err(), Ordering::Relaxed);
    started
}

/// One process ahead, where one is kept.
#[derive(Default)]
struct Spare {
    is_kept: bool,
    blank: Option<Blank>,
}

impl Spare {
    /// The one that is there, if it lives, or a new one.
    fn take(&mut self) -> io::Result<Blank> {
        let mut spare = self.blank.take();
        // One that died is waited for by asking whether it runs.
        match spare.take_if(Blank::is_running) {
            Some(blank) => Ok(blank),
            None => Blank::start(),
        }
    }

    /// After whoever waits was served.
    fn refill(&mut self) {
        if self.is_kept && self.blank.is_none() {
            // What fails now is tried, and told, when a worker is wanted.
            self.blank = Blank::start().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::fs::Dir;
    use std::fs::File;

    #[test]
    fn a_worker_serves_its_profile_and_its_very_folders_alone() {
        let room = tempfile::tempdir().expect("a folder");
        let open = || Arc::new(Dir::from_std_file(File::open(room.path()).expect("there")));
        let (shared, tmp) = (open(), open());
        let recipe = |profile: &str, mounts: &[(&str, &Arc<Dir>)]| {
            let mounts = mounts.iter().map(|(guest, dir)| ((*guest).to_owned(), (*dir).clone())).collect();
            Recipe { kind: Kind::Call, profile: profile.to_owned(), mounts, cache: None }
        };
        let mine = recipe("p", &[("/shared", &shared), ("/tmp", &tmp)]);
        assert!(mine.is_for_the_same(&mine.clone()));
        for (other, why) in [
            (recipe("q", &[("/shared", &shared), ("/tmp", &tmp)]), "another profile"),
            (recipe("p", &[("/shared", &shared)]), "fewer folders"),
            (recipe("p", &[]), "no folder"),
            (recipe("p", &[("/shared", &shared), ("/tmp", &tmp), ("/vault", &tmp)]), "more folders"),
            (recipe("p", &[("/shared", &tmp), ("/tmp", &shared)]), "exchanged"),
            // Removed and made again, a folder has its old name and is another one.
            (recipe("p", &[("/shared", &shared), ("/tmp", &open())]), "opened anew"),
        ] {
            assert!(!mine.is_for_the_same(&other) && !other.is_for_the_same(&mine), "{why}");
        }
    }
}

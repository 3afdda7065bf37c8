//! The program is killed before each commit of its store: what was asked is answered, once.

use super::*;
use std::sync::mpsc;
use tokio::runtime::{Builder, Runtime};

/// What Ann has sent before the program starts: a question with a file, and what she adds to it,
/// with another.
fn asked() -> Vec<Letter> {
    vec![says(1, "look", Some("a")), says(2, "/steer and here", Some("b"))]
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Runs a program, and kills it before its commit number `at`; whether it came so far.
fn is_killed_before_commit(world: &World, at: usize) -> bool {
    let runtime = runtime();
    let died = Arc::new(Notify::new());
    // A commit that is to come waits until the program is gone, and then comes to nothing.
    let (gone, waits) = mpsc::channel::<()>();
    let (dies, mut left) = (died.clone(), at);
    let store = world.store().with_refusals(move || match left.checked_sub(1) {
        Some(fewer) => {
            left = fewer;
            false
        }
        None => {
            dies.notify_one();
            waits.recv().is_err()
        }
    });
    let program = run(world.started(store), asked());
    let is_killed = runtime.block_on(async {
        tokio::select! {
            () = died.notified() => true,
            () = program => false,
        }
    });
    runtime.shutdown_background();
    drop(gone);
    is_killed
}

#[test]
fn a_question_with_files_is_answered_once_wherever_the_program_is_killed() {
    let (mut commits, mut repeats) = (0, 0);
    loop {
        let world = World::new();
        if !is_killed_before_commit(&world, commits) {
            break;
        }
        runtime().block_on(async {
            world.run(&asked()).await;
            let read = world.read();
            // Paper cannot tell a letter that it has carried before: one that it carried as its
            // last act comes again.
            repeats += read.len() - 1;
            for answer in read {
                assert_eq!(answer, "attic: look<a>; and here<b>", "killed before commit {commits}");
            }
            let store = world.store();
            assert!(store.take_over("paper-1", &[]).await.expect("the store").turns.is_empty());
            assert!(store.take_over("paper-1", &[]).await.expect("the store").replies.is_empty());
            // The files of the latest message are the most recent ones, and noted once.
            world.run(&[says(3, "again", None)]).await;
            let last = world.read().pop();
            assert_eq!(last.as_deref(), Some("attic: again; \"<b>\""), "killed before commit {commits}");
        });
        commits += 1;
    }
    assert!(commits > 8, "{commits} commits: this test kills nothing");
    assert_eq!(repeats, 1, "between a letter that is out and the note of it");
}

//! The program is killed before each step that it takes in the store: what was asked is answered,
//! once.

use super::*;

/// What Ann has sent before the program starts: a question with a file, and what she adds to it,
/// with another.
fn asked() -> Vec<Letter> {
    vec![says(1, "look", Some("a")), says(2, "/steer and here", Some("b"))]
}

#[tokio::test]
async fn a_question_with_files_is_answered_once_wherever_the_program_is_killed() {
    let (mut steps, mut repeats) = (0, 0);
    loop {
        let world = World::new();
        let doomed = world.memory.killed_after(steps);
        let ended = tokio::spawn(run(world.started(&doomed), asked())).await;
        if !doomed.was_killed() {
            ended.expect("nothing else ends it");
            break;
        }
        world.run(&asked()).await;
        let read = world.read();
        // Paper cannot tell a letter that it has carried before: one that it carried as its last
        // act comes again.
        repeats += read.len() - 1;
        for answer in read {
            assert_eq!(answer, "attic: look<a>; and here<b>", "killed after {steps} steps");
        }
        let store: Store = Arc::new(world.memory.clone());
        assert!(store.bound("paper-1").await.expect("the store").is_empty());
        assert!(store.load_unsent("paper-1").await.expect("the store").is_empty());
        // The files of the latest message are the most recent ones, and noted once.
        world.run(&[says(3, "again", None)]).await;
        assert_eq!(world.read().last().map(String::as_str), Some("attic: again; \"<b>\""), "{steps} steps");
        steps += 1;
    }
    assert!(steps > 15, "{steps} steps: this test kills nothing");
    assert_eq!(repeats, 1, "between a letter that is out and the note of it");
}

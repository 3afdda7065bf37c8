//! Which files a message means, on a channel of its own.

use super::*;

fn of_album(mut letter: Letter) -> Letter {
    letter.album = Some("g".into());
    letter
}

fn replying(mut letter: Letter, to: &Letter) -> Letter {
    letter.replies_to = Some(Box::new(to.clone()));
    letter
}

#[tokio::test]
async fn a_reply_to_a_part_of_an_album_means_all_of_it() {
    let world = World::new();
    let parts = [of_album(says(1, "two", Some("a"))), of_album(says(2, "", Some("b")))];
    let asked = replying(says(3, "what is it?", None), &parts[1]);
    world.run(&parts).await;
    world.run(&[asked]).await;
    assert_eq!(world.read(), ["attic: two<a><b>", "attic: what is it?<a><b>"]);
}

#[tokio::test]
async fn a_file_that_cannot_be_had_keeps_its_place_and_is_told_of() {
    let world = World::new();
    let parts = [of_album(says(1, "two", Some("blank"))), of_album(says(2, "", Some("b")))];
    world.run(&parts).await;
    assert_eq!(world.read(), ["attic: [0] blank: nothing is on it.\ntwo-<b>"]);
}

/// R-000-16: those of the most recent message that has any, an album being one message.
#[tokio::test]
async fn the_most_recent_files_are_those_of_the_last_message_that_has_any() {
    let world = World::new();
    let album = [of_album(says(2, "", Some("b"))), of_album(says(3, "", Some("c")))];
    world.run(&[says(1, "one", Some("a"))]).await;
    world.run(&album).await;
    // A part that comes after the answer to its album belongs to it.
    world.run(&[of_album(says(4, "late", Some("d")))]).await;
    world.run(&[says(5, "words", None)]).await;
    world.run(&[says(6, "again", None)]).await;
    assert_eq!(world.read().last().map(String::as_str), Some("attic: again; \"<b><c><d>\""));
    // Another person's, or those of another room, are not hers.
    let mut ben = says(7, "again", None);
    ben.from = "ben".into();
    let mut cellar = says(8, "again", None);
    cellar.room = "cellar".into();
    world.run(&[ben, cellar]).await;
    assert_eq!(world.read()[5..], ["attic: again; \"\"", "cellar: again; \"\""]);
}

#[tokio::test]
async fn who_is_not_served_is_not_answered_and_nothing_is_left_of_it() {
    let world = World::new();
    let mut eve = says(1, "hello", Some("a"));
    eve.from = "eve".into();
    world.run(&[eve]).await;
    assert_eq!(world.read(), [""; 0]);
}

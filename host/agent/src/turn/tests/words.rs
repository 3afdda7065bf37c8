//! `/new`, `/retry`, and what a conversation remembers.

use super::*;
use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_warden::attachments::{Attachment, BlobStore, DeclaredFile, Intake, RecentAttachments};

#[tokio::test]
async fn a_conversation_is_remembered_until_it_starts_anew() {
    let world = World::new([Act::Say("hello"), Act::Say("you said a")]);
    world.ask("1", "a").await;
    world.ask("2", "b").await;
    assert_eq!(world.script.asked()[1], "u:a a:hello u:b");
    let elsewhere = TurnInput { session: Some(SessionId::new("other")), ..turn("3", "c") };
    world.then([Act::Say("who are you")]);
    world.run(elsewhere, &CancellationToken::new()).await;
    assert_eq!(world.script.asked()[2], "u:c", "no other conversation is seen");
    let said = world.ask("4", "/new").await;
    assert_eq!(said, "A new conversation begins here. What was said before is forgotten.");
    world.then([Act::Say("hello")]);
    world.ask("5", "d").await;
    assert_eq!(world.script.asked()[3], "u:d");
}

#[tokio::test]
async fn a_failed_request_is_retried_and_an_answered_one_is_not() {
    let nothing = "There is nothing to retry: the last message was answered. Write what you want instead.";
    let down = || Act::Fail(ProviderError::Unavailable("The model cannot be reached.".into()));
    let world = World::new([Act::Call(vec![call("WRITE")]), down(), down(), Act::Say("done")]);
    assert_eq!(world.ask("0", "/retry").await, nothing);
    assert_eq!(world.ask("1", "go").await, "The model cannot be reached.");
    assert_eq!(world.ask("2", "/retry").await, "The model cannot be reached.");
    assert_eq!(world.ask("3", "/retry").await, "done");
    assert_eq!(world.tools.done(), ["1/0 WRITE"], "what was done is not done again");
    assert_eq!(world.script.asked()[3], "u:go a:WRITE r");
    assert_eq!(world.ask("4", "/retry").await, nothing);
    // The turn of the retry, again after a crash, has its answer.
    assert_eq!(world.ask("3", "/retry").await, "done");
}

#[tokio::test]
async fn where_nothing_is_remembered_the_words_say_so() {
    let world = World::new([]);
    for (text, said) in [
        ("/new", "There is no conversation here: each message stands alone."),
        ("/retry", "There is no conversation here: each message stands alone."),
        ("/cancel", "Nothing is running here."),
    ] {
        let alone = TurnInput { session: None, ..turn("t", text) };
        assert_eq!(world.run(alone, &CancellationToken::new()).await, said);
    }
    world.then([Act::Say("(tools)")]);
    assert!(world.ask("t", "/help").await.contains("/retry"));
}

/// A file as it came with a message.
fn photo(dir: &std::path::Path) -> Attachments {
    let blobs = BlobStore::open(dir).expect("a store");
    let mut intake = Intake::new(&blobs, &cofferdam_warden::attachments::Config::default());
    let declared = DeclaredFile { name: Some("a.txt".into()), mime_type: None, size: None, source: None };
    intake.read(declared, &mut &b"some bytes"[..]);
    intake.finish()
}

struct Found(Attachments);

#[async_trait]
impl RecentAttachments for Found {
    async fn recent(&self) -> Attachments {
        Attachments::default()
    }

    async fn refetch(&self, wanted: &[AttachmentInfo]) -> Attachments {
        let wanted = |found: &&Attachment| wanted.iter().any(|info| info.source == found.info.source);
        self.0.iter().filter(wanted).cloned().collect::<Vec<_>>().into()
    }
}

#[tokio::test]
async fn no_bytes_and_no_addendum_of_an_earlier_turn_are_remembered() {
    let dir = tempfile::tempdir().expect("a folder");
    let world = World::new([Act::Say("saved"), Act::Say("a file")]);
    let with = TurnInput { attachments: photo(dir.path()), ..turn("1", "save this") };
    world.run(with, &CancellationToken::new()).await;
    world.ask("2", "what was it?").await;
    assert_eq!(world.script.asked(), ["u:save this[1]!", "u:save this[1] a:saved u:what was it?"]);
    let kept = world.history.load(&session(), &TurnId::new("")).await.expect("kept");
    let HistoryEntry::User { attachments, addendum: None, .. } = &kept[0].entry else { panic!("{kept:?}") };
    let Attachment { info, blob } = attachments.iter().next().expect("one");
    assert!(
        blob.is_none() && info.unavailable.as_deref() == Some("it came with an earlier message"),
        "{info:?}"
    );
}

#[tokio::test]
async fn a_retried_request_has_its_files_again_or_says_that_they_are_gone() {
    let dir = tempfile::tempdir().expect("a folder");
    let files = photo(dir.path());
    let asleep = || Act::Fail(ProviderError::Unavailable("asleep".into()));
    let world = World::new([asleep(), asleep(), Act::Say("done")]);
    let first = TurnInput { attachments: files.clone(), ..turn("1", "save this") };
    world.run(first, &CancellationToken::new()).await;
    let said = world.ask("2", "/retry").await;
    assert!(
        said.starts_with("[0] a.txt: it came with the message that is retried and cannot be had again"),
        "{said}"
    );
    let found = TurnInput { recent: Some(Arc::new(Found(files))), ..turn("3", "/retry") };
    assert_eq!(world.run(found, &CancellationToken::new()).await, "done");
    assert_eq!(world.script.asked()[2], "u:save this[1]!");
}

#[tokio::test]
async fn files_are_held_for_a_retry_until_the_next_answer() {
    let fails = || Act::Fail(ProviderError::Unavailable("asleep".into()));
    let world = World::new([Act::Call(vec![call("SEND")]), fails(), fails(), Act::Say("done")]);
    let held = || world.history.store.blobs_in_use().expect("known").into_iter().collect::<Vec<_>>();
    world.ask("1", "send it").await;
    assert_eq!(held(), ["ab"]);
    world.ask("2", "hello").await;
    assert_eq!(held(), ["ab"], "nothing was answered");
    assert_eq!(world.ask("3", "hello").await, "done");
    assert_eq!(held(), [""; 0]);
}

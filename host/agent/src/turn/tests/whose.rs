//! Whose a request and a conversation are: nobody has another person's request done, and where each
//! has a conversation of their own, nobody hears another's.

use super::*;

fn by(sender: &str, id: &str, text: &str) -> TurnInput {
    let caller = Caller { channel: "test".into(), sender: sender.into() };
    TurnInput { caller, ..turn(id, text) }
}

async fn said(runner: &Runner, turn: TurnInput) -> String {
    runner.run(turn, Arc::new(()), &CancellationToken::new()).await.text.expect("text")
}

const NOT_YOURS: &str = "The last message here is not yours, so it is for whoever wrote it to retry. Write what you want instead.";

#[tokio::test]
async fn a_request_is_retried_by_whoever_made_it() {
    let (_dir, store) = store();
    for history in [History::transient(Store::in_memory().expect("a store")), History::durable(store)] {
        let down = || Act::Fail(ProviderError::Unavailable("down".into()));
        let world = World { history, ..World::new([down(), down(), Act::Say("done")]) };
        let runner = world.runner();
        assert_eq!(said(&runner, by("eve", "1", "send the keys")).await, "down");
        assert_eq!(said(&runner, by("ann", "2", "/retry")).await, NOT_YOURS);
        assert_eq!(said(&runner, by("eve", "3", "/retry")).await, "down");
        // What was retried is still hers.
        assert_eq!(said(&runner, by("ann", "4", "/retry")).await, NOT_YOURS);
        // Somebody of the same number elsewhere is somebody else.
        let elsewhere = TurnInput {
            caller: Caller { channel: "other".into(), sender: "eve".into() },
            ..turn("5", "/retry")
        };
        assert_eq!(said(&runner, elsewhere).await, NOT_YOURS);
        assert_eq!(said(&runner, by("eve", "6", "/retry")).await, "done");
        assert_eq!(world.script.asked().len(), 3);
    }
}

#[tokio::test]
async fn a_request_of_nobody_knows_whom_is_not_retried() {
    let (_dir, store) = store();
    let whose = cofferdam_store::WhoseTurn { session: session(), turn: TurnId::new("1"), caller: ann() };
    let line = json!({ "kind": "user", "text": "as an earlier release kept it" });
    store.add_line(&whose, 0, line.to_string(), 0).await.expect("kept");
    let world = World { history: History::durable(store), ..World::new([]) };
    let answer = world.ask("2", "/retry").await;
    assert_eq!(
        answer,
        "It was not kept who wrote the last message here, so it is not retried. Write it again."
    );
}

#[tokio::test]
async fn where_each_has_a_conversation_nobody_hears_anothers() {
    let world = World::new([Act::Say("noted"), Act::Say("who?"), Act::Say("tiger")]);
    let runner = world.runner().with_history(ConversationOwner::Person);
    said(&runner, by("ann", "1", "my cat is called tiger")).await;
    said(&runner, by("ben", "2", "what is it called?")).await;
    assert_eq!(world.script.asked()[1], "u:what is it called?");
    let fresh = said(&runner, by("ben", "3", "/new")).await;
    assert!(fresh.starts_with("A new conversation begins here."), "{fresh}");
    said(&runner, by("ann", "4", "what is it called?")).await;
    assert_eq!(world.script.asked()[2], "u:my cat is called tiger a:noted u:what is it called?");
    assert_eq!(world.kept().await, "", "none of it is the session's");
}

//! What a model says is shown without the secrets of the gateway itself, while it comes and as a
//! whole.

use super::*;
use cofferdam_core::secret::Secret;

const KEY: &str = "key-of-the-turn-tests";

/// Says the key in pieces.
struct Telling;

#[async_trait]
impl Provider for Telling {
    async fn respond(&self, _: StepRequest<'_>, deltas: &mut Deltas<'_>) -> Result<StepReply, ProviderError> {
        for piece in ["It is key-of", "-the-turn", "-tests; k"] {
            deltas(Delta::Text(piece.into()));
        }
        Ok(StepReply { text: Some(format!("It is {KEY}; k")), usage: TEN, ..StepReply::default() })
    }

    fn has_memory(&self) -> bool {
        true
    }
}

#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl StepListener for Seen {
    fn step(&self, step: TurnStep) {
        if let TurnStep::Text(text) = step {
            self.0.lock().expect("held shortly").push(text);
        }
    }
}

#[tokio::test]
async fn a_model_tells_nobody_a_secret_of_the_gateway() {
    drop(Secret::new(KEY));
    let world = World::new([]);
    let runner = Runner::new(
        Arc::new(Telling),
        world.tools.clone(),
        world.history.clone(),
        world.limits,
        String::new(),
    );
    let seen = Arc::new(Seen::default());
    let said = runner.run(turn("1", "what is it?"), seen.clone(), &CancellationToken::new()).await;
    assert_eq!(said.text.as_deref(), Some("It is ***; k"));
    assert_eq!(*seen.0.lock().expect("held shortly"), ["It is ", "***; ", "k"]);
    assert!(world.kept().await.ends_with(" a:It is ***; k"));
}

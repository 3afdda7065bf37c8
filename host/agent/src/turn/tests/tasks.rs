//! Tasks of workflows: what they cost, and how long they may take.

use super::*;
use cofferdam_core::limits::TimeSpan;
use std::time::Duration;

impl World {
    /// What comes of a task, by how its answer is read.
    async fn task(
        &self,
        read: &(dyn Fn(&str) -> Result<Value, String> + Sync),
    ) -> Result<Value, TaskFailure> {
        let (instructions, prompt) = (String::new(), "go".to_owned());
        let request = TaskRequest { instructions, prompt, list: None, shown: Vec::new() };
        self.runner().answer_task(turn("t", ""), request, read, &CancellationToken::new()).await
    }

    /// Tokens that the person has used.
    async fn used(&self) -> u64 {
        self.history.load_usage(&ann()).await.expect("known").tokens
    }
}

fn read_any(text: &str) -> Result<Value, String> {
    Ok(text.into())
}

fn step(n: usize) -> Act {
    Act::Call(vec![("read", format!("{{\"n\":{n}}}"))])
}

#[tokio::test]
async fn each_step_is_charged_once() {
    let world = World::new([step(0), Act::Say("no"), Act::Say("yes")]);
    let read = |text: &str| if text == "yes" { read_any(text) } else { Err("it says no".to_owned()) };
    assert_eq!(world.task(&read).await, Ok("yes".into()));
    assert_eq!(world.used().await, 30);
}

#[tokio::test]
async fn a_task_ends_when_the_day_of_its_person_is_used_up() {
    let world = World::new([step(0), step(1)]).limited(|limits| limits.user_tokens_per_day = 20);
    let failed = world.task(&read_any).await.expect_err("too much");
    let TaskFailure::Unanswered(said) = &failed else { panic!("{failed:?}") };
    assert!(said.starts_with("Today's budget of 20 tokens is used up"), "{said}");
    assert_eq!((world.script.asked().len(), world.used().await), (2, 20));
}

#[tokio::test]
async fn what_a_model_declines_or_does_not_end_is_no_output() {
    let act =
        |text: &str, stop| Act::Reply(StepReply { text: Some(text.into()), stop, ..StepReply::default() });
    let cut = "(The answer was cut off: the model came to the limit of its output.)";
    for (stop, why) in [(Stop::Declined, "The model declined to go on."), (Stop::Length, cut)] {
        let failed = World::new([act("Half of", stop)]).task(&read_any).await;
        assert_eq!(failed, Err(TaskFailure::Unanswered(why.into())));
    }
    // What wants more than a text is asked for once more, unless the model declined.
    let read = |text: &str| if text == "{}" { read_any(text) } else { Err("it is no JSON".to_owned()) };
    let world = World::new([act("{", Stop::Length), Act::Say("{}")]);
    assert_eq!(world.task(&read).await, Ok("{}".into()));
    let world = World::new([act("No.", Stop::Declined), Act::Say("{}")]);
    assert!(matches!(world.task(&read).await, Err(TaskFailure::Unanswered(_))));
    assert_eq!(world.script.asked().len(), 1);
}

#[tokio::test]
async fn what_a_task_has_cost_is_charged_before_it_ends() {
    let world = World::new([step(0), Act::Hang]);
    tokio::select! {
        answered = world.task(&read_any) => panic!("{answered:?}"),
        () = world.script.hangs.notified() => {}
    }
    assert_eq!(world.used().await, 10, "as when the gateway is killed");
}

#[tokio::test]
async fn a_correction_has_what_is_left_of_the_time() {
    let deadline = Duration::from_secs(1);
    let world = World::new([Act::Say("no JSON")]).limited(|limits| limits.deadline = TimeSpan(deadline));
    let read = |_: &str| -> Result<Value, String> {
        std::thread::sleep(deadline);
        Err("it is no JSON".to_owned())
    };
    let failed = world.task(&read).await.expect_err("too late");
    let TaskFailure::Unanswered(said) = &failed else { panic!("{failed:?}") };
    assert!(said.starts_with("The turn took longer than 1s"), "{said}");
    assert_eq!(world.script.asked().len(), 1);
}

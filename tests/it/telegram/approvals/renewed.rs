//! Another configuration comes into force while a call waits: nothing is approved for somebody who
//! is not served any more.

use super::*;
use rustix::process::Signal;

const APPLIED: &str = "the configuration was reloaded and is in force";

/// Has the program serve these people, with these lines besides.
async fn reload(world: &mut World, users: &[i64], lines: &str) -> anyhow::Result<()> {
    let url = world.server.api_url();
    world.refit(|home| home.telegram(&url, users).telegram_more(lines));
    world.serving().signal(Signal::USR1)?;
    world.logs(APPLIED).await
}

/// By the list of people, and by the rules of the group.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nothing_is_approved_for_whoever_is_not_served_any_more() -> anyhow::Result<()> {
    let named = format!("approvers = [{BEN}]\n");
    let closed = format!("{named}[channels.telegram.groups.\"{GROUP}\"]\nmembers = \"none\"\n");
    for (users, lines) in [(&[BEN][..], &named), (&[ANN, BEN][..], &closed)] {
        let mut world = World::running_in(|home| always(home).telegram_more(&named)).await?;
        world.server.push(Incoming::group(GROUP, ANN).text(WRITE));
        let approval = asked(&world, 0).await?;
        world.logs("an approval is shown").await?;
        reload(&mut world, users, lines).await?;
        let withdrawn = "🚫 Withdrawn: this is not asked any more.";
        ended(&world, &approval, withdrawn).await?;
        world.server.push(press(BEN, &approval, APPROVE));
        assert_eq!(told(&world, 1).await?, [(withdrawn.to_owned(), true)]);
        answered(&world, "cancelled: ").await?;
        assert!(!world.home.host("/shared/a").exists());
        assert_eq!(published(&world), 0);
        world.end(2)?;
    }
    Ok(())
}

/// Who asked is served as before, and the turn goes on as it began.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_question_of_somebody_who_is_served_waits_on() -> anyhow::Result<()> {
    let named = format!("approvers = [{BEN}]\n");
    let mut world = World::running_in(|home| always(home).telegram_more(&named)).await?;
    world.server.push(Incoming::group(GROUP, ANN).text(WRITE));
    let approval = asked(&world, 0).await?;
    world.logs("an approval is shown").await?;
    reload(&mut world, &[ANN, BEN, EVE], &named).await?;
    world.server.push(press(BEN, &approval, APPROVE));
    answered(&world, "{").await?;
    ended(&world, &approval, "✅ Approved by 5000000002 (\"Ann\").").await?;
    assert_eq!((world.saved("/shared/a"), published(&world)), (b"hello".to_vec(), 1));
    world.end(2)
}

/// Nobody decides over others any more, and who asked was not named when it was shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_question_that_nobody_may_decide_any_more_is_withdrawn() -> anyhow::Result<()> {
    let named = format!("approvers = [{BEN}]\n");
    let mut world = World::running_in(|home| always(home).telegram_more(&named)).await?;
    world.server.push(Incoming::group(GROUP, ANN).text(WRITE));
    let approval = asked(&world, 0).await?;
    world.logs("an approval is shown").await?;
    reload(&mut world, &[ANN, BEN], "").await?;
    ended(&world, &approval, "🚫 Withdrawn: this is not asked any more.").await?;
    answered(&world, "cancelled: ").await?;
    assert!(!world.home.host("/shared/a").exists());
    assert_eq!(published(&world), 0);
    world.end(2)
}

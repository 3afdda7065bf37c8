//! A gateway with a signing key: what it signs when it stops, and that it does not start without
//! its key.

use super::world::{ANN, World};
use support::telegram::Incoming;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clean_stop_signs_the_head() -> anyhow::Result<()> {
    let mut world = World::running_in(|home| {
        let home = home.config("[audit]\nsign_key_file = \"key.pem\"\n");
        let made = home.run(&["audit", "keygen", "--out", "key.pem"]);
        assert_eq!(made.code, Some(0), "{made:?}");
        home
    })
    .await?;
    let verify = ["audit", "verify", "--public-key", "key.pem.pub", "--json"];
    // Nothing to sign at the first stop, then the head of each.
    world.stop()?;
    assert!(!world.home.state().join("audit.signatures.jsonl").exists());
    for stops in 1..=2 {
        world.start()?;
        world.ask(Incoming::private(ANN).text("/file_read path=/shared/none")).await?;
        world.stop()?;
        let json = world.home.run(&verify).json();
        assert_eq!((&json["ok"], &json["signed"]["statements"]), (&true.into(), &stops.into()), "{json}");
        assert_eq!(json["signed"]["newest"]["seq"], json["head"]["seq"]);
    }
    world.end(2)
}

//! Tables of an older release, which the first program of a later one brings to its version.

use super::*;

/// The tables as the release before had them, where a claim of a reply was a row like any other.
const BACK_TO_19: &str = "ALTER TABLE claim DROP CONSTRAINT claim_pkey; ALTER TABLE claim RENAME session TO name;
    ALTER TABLE claim ADD kind text COLLATE \"C\" NOT NULL DEFAULT 'session' CHECK (kind IN ('session', 'reply'));
    ALTER TABLE claim ALTER kind DROP DEFAULT; ALTER TABLE claim ADD PRIMARY KEY (channel, kind, name);
    INSERT INTO claim (channel, kind, name, holder) SELECT channel, 'reply', turn, holder FROM reply WHERE finished_at IS NULL;
    ALTER TABLE claim DROP messages; ALTER TABLE reply DROP holder; DROP TABLE audit_head;
    DROP TABLE home; DROP TABLE heir; ALTER TABLE node DROP has_home; ALTER TABLE run DROP node; UPDATE schema_version SET version = 19";

#[tokio::test]
async fn what_a_node_of_the_release_before_had_begun_is_taken_over_once_its_lease_is_over() {
    if !Schema::is_there("what_a_node_of_the_release_before_had_begun") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    let location = &fixture.engine.location;
    let a = nodes::join(location, "a").expect("a name of its own");
    a.persist(CHANNEL, vec![nodes::of("s1", 1), nodes::of("s2", 2)]).await.expect("kept");
    let claim = async |id| a.claim(CHANNEL, UpdateClaim::Update(id)).await.expect("it").expect("it waits");
    let (first, second) = (claim(1).await, claim(2).await);
    a.end(CHANNEL, &first.turn, text_reply(&["one"])).await.expect("kept");
    fixture.sql(BACK_TO_19);
    // It would send on beside who takes its work over.
    for refused in [said(Store::open(location)), said(look(|| DatabaseView::check_open(location)))] {
        let tells = refused.contains("node \"a\" of an older release uses the store")
            && refused.contains(": process ")
            && refused.contains("stop all nodes of that release first");
        assert!(tells, "{refused}");
    }
    assert_eq!(fixture.sql("SELECT version FROM schema_version"), "19");
    // As if it had stood still for its lease; it may say in between that it is there.
    let b = loop {
        fixture.sql("UPDATE node SET until = 0");
        match nodes::join(location, "b") {
            Err(StoreError::OlderNode { .. }) => {}
            joined => break joined.expect("it brings the tables to its version"),
        }
    };
    assert_eq!(fixture.sql("SELECT version FROM schema_version"), "22");
    assert!(matches!(a.dismiss(&second.turn).await, Err(StoreError::TakenOver)), "it is out");
    let gone = b.gone_nodes(CHANNEL).await.expect("asked");
    let left = b.take_over(CHANNEL, &gone).await.expect("asked");
    let replies: Vec<_> = left.replies.iter().map(|reply| &reply.turn).collect();
    assert_eq!((gone.len(), replies, left.turns), (1, vec![&first.turn], vec![second]));
}

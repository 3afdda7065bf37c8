//! Tables of an older release, which the first program of a later one brings to its version.

use super::*;

/// The tables as the release before had them, where a claim of a reply was a row like any other.
const BACK_TO_19: &str = "ALTER TABLE claim DROP CONSTRAINT claim_pkey; ALTER TABLE claim RENAME session TO name;
    ALTER TABLE claim ADD kind text COLLATE \"C\" NOT NULL DEFAULT 'session' CHECK (kind IN ('session', 'reply'));
    ALTER TABLE claim ALTER kind DROP DEFAULT; ALTER TABLE claim ADD PRIMARY KEY (channel, kind, name);
    INSERT INTO claim (channel, kind, name, holder) SELECT channel, 'reply', turn, holder FROM reply WHERE finished_at IS NULL;
    ALTER TABLE claim DROP messages; ALTER TABLE reply DROP holder; DROP TABLE audit_head;
    DROP TABLE home; DROP TABLE heir; ALTER TABLE node DROP has_home; ALTER TABLE run DROP node; DROP TABLE committed;
    UPDATE schema_version SET version = 19";

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
    // It cannot say any more that it is there.
    fixture.sql("UPDATE node SET until = until + 60000");
    // It would send on beside who takes its work over.
    for refused in [said(Store::open(location)), said(look(|| DatabaseView::check_open(location)))] {
        let tells = refused.contains("node \"a\" of an older release uses the store")
            && refused.contains(": process ")
            && refused.contains("stop all nodes of that release first");
        assert!(tells, "{refused}");
    }
    assert_eq!(fixture.sql("SELECT version FROM schema_version"), "19");
    // As if it had stood still for its lease.
    fixture.sql("UPDATE node SET until = 0");
    let b = nodes::join(location, "b").expect("it brings the tables to its version");
    assert_eq!(fixture.sql("SELECT version FROM schema_version"), "23");
    assert!(matches!(a.dismiss(&second.turn).await, Err(StoreError::TakenOver)), "it is out");
    let gone = b.gone_nodes(CHANNEL).await.expect("asked");
    let left = b.take_over(CHANNEL, &gone).await.expect("asked");
    let replies: Vec<_> = left.replies.iter().map(|reply| &reply.turn).collect();
    assert_eq!((gone.len(), replies, left.turns), (1, vec![&first.turn], vec![second]));
}

/// The same as the release of version 21 had them.
const BACK_TO_21: &str =
    "DROP TABLE home; DROP TABLE heir; ALTER TABLE node DROP has_home; ALTER TABLE run DROP node; DROP TABLE committed;
    UPDATE schema_version SET version = 21";

#[tokio::test]
async fn tables_may_take_longer_to_be_brought_to_a_version_than_a_statement() {
    if !Schema::is_there("tables_may_take_longer") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    fixture.sql(BACK_TO_21);
    // Longer than the server takes over a statement, and than anybody waits for it.
    fixture.sql(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(13); RETURN NULL; END $$;
         CREATE TRIGGER slow BEFORE DELETE ON duty FOR EACH STATEMENT EXECUTE FUNCTION slow()",
    );
    let since = std::time::Instant::now();
    let store = Store::open(&fixture.engine.location).expect("it brings the tables to its version");
    assert!(since.elapsed() > std::time::Duration::from_secs(13), "{:?}", since.elapsed());
    assert_eq!(fixture.sql("SELECT version FROM schema_version"), "23");
    // The same connection has its deadline again.
    let deadline = store.write_here(|tx| {
        tx.query_row("SELECT current_setting('statement_timeout')", params![], |row| row.get::<String>(0))
    });
    assert_eq!(deadline.expect("asked"), "10s");
}

#[tokio::test]
async fn a_node_does_not_join_tables_that_a_later_release_has_changed_since_it_opened_them() {
    if !Schema::is_there("a_node_does_not_join") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    fixture.sql("UPDATE schema_version SET version = 99");
    let refused = fixture.store.join(&nodes::node("a"));
    assert!(matches!(refused, Err(StoreError::Newer { found: 99, .. })), "{refused:?}");
    assert_eq!(fixture.sql("SELECT count(*) FROM node"), "0");
}

#[tokio::test]
async fn whoever_brings_tables_to_a_version_waits_for_a_lock_no_longer_than_for_a_statement() {
    if !Schema::is_there("whoever_brings_tables_to_a_version") {
        return;
    }
    let fixture = Fixture::<Schema>::new();
    // The next statement waits for the lock; what this release added stays for who has that.
    fixture.sql("UPDATE schema_version SET version = 22");
    let refused = fixture.store.write_here(|tx| {
        tx.run("SET LOCAL idle_in_transaction_session_timeout = 0", params![])?;
        tx.execute("LOCK TABLE duty", params![])?;
        Ok(said(Store::open(&fixture.engine.location)))
    });
    let refused = refused.expect("nothing was in its way");
    assert!(refused.contains("takes no changes: a table is locked ("), "{refused}");
    assert_eq!(fixture.sql("SELECT version FROM schema_version"), "22");
}

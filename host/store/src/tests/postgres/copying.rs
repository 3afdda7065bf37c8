//! A store that moves from one engine to the other, and what a copy knows of the tables.

use super::*;
use crate::copy::TABLES;

/// A store with rows in most tables, and texts that are hard to keep.
async fn fill(store: &Store) {
    let hard = "NUL \0, \u{1a}, \u{1a}0, 'quote', \\, ä€😀, ?1 $1";
    for id in 1..=5 {
        let update = NewUpdate { raw: format!("{hard} {id}"), ..new(id, Some("album")) };
        store.persist(CHANNEL, vec![update]).await.expect("kept");
    }
    store.persist(CHANNEL, vec![new(6, None), stranger(7, "eve")]).await.expect("kept");
    let turn = store.claim(CHANNEL, UpdateClaim::Update(6)).await.expect("it").expect("bound").turn;
    store.attempt(&turn, &caller("ann")).await.expect("noted");
    store.keep_transcript(&turn, hard).await.expect("kept");
    store.add_line(&whose("s", turn.as_str()), 0, hard.into(), 7).await.expect("added");
    store.record(turn.call(0).as_str(), "h", &answer(vec![file("f1")]), 9).expect("recorded");
    store.mark_placeholder_begun(&turn).await.expect("noted");
    for place in ["a", "b", "c"] {
        store.note_move(CHANNEL, place.into(), hard.into()).await.expect("noted");
    }
    store.set_spoken_to(&SessionId::new("s"), "ann", true).await.expect("set");
    let position = StreamPosition { session: "x".into(), address: "y".into(), number: 3 };
    store.begin_stream(CHANNEL, position).await.expect("begun");
    let paths = ApprovedPaths { channel: "c".into(), sender: "s".into(), tool: "t".into() };
    store.remember_paths(paths, vec!["/a".into(), "/b".into()]).await.expect("noted");
    store.begin_schedule_check(("w", "0 0 * * *"), 5).await.expect("begun");
}

/// Every row of every table, in order.
fn rows(store: &Store) -> Vec<String> {
    store.write_here(dump).expect("read")
}

fn dump(tx: &Tx<'_>) -> Result<Vec<String>, StoreError> {
    let mut all = Vec::new();
    for (name, columns, order) in TABLES {
        let select = format!("SELECT {columns} FROM {name} ORDER BY {}", order.unwrap_or(columns));
        let columns = columns.split(',').count();
        all.extend(tx.query_rows(&select, params![], |row| {
            let values = (0..columns).map(|n| row.value(n)).collect::<Result<Vec<_>, _>>()?;
            Ok(format!("{name} {values:?}"))
        })?);
    }
    Ok(all)
}

#[tokio::test]
async fn a_store_moves_there_and_back_and_nothing_is_lost() {
    if !Schema::is_there("a_store_moves_there_and_back") {
        return;
    }
    let (sqlite, postgres, back) =
        (Fixture::<Files>::new(), Fixture::<Schema>::new(), Fixture::<Files>::new());
    fill(&sqlite.store).await;
    let before = rows(&sqlite.store);
    assert!(before.len() > 20, "{before:?}");
    let copied = sqlite.store.copy_into(&postgres.store, &|_, _| {}).expect("copied");
    assert_eq!(copied, before.len() as u64);
    assert_eq!((rows(&postgres.store), rows(&sqlite.store)), (before.clone(), before.clone()));
    assert!(matches!(
        sqlite.store.copy_into(&postgres.store, &|_, _| {}),
        Err(StoreError::NotEmpty("inbox"))
    ));
    postgres.store.copy_into(&back.store, &|_, _| {}).expect("copied");
    assert_eq!(rows(&back.store), before);
    // It goes on where it was: behind what came along.
    for store in [&sqlite.store, &postgres.store, &back.store] {
        store.persist(CHANNEL, vec![new(8, None)]).await.expect("kept");
        store.note_move(CHANNEL, "d".into(), "e".into()).await.expect("noted");
        store.add_line(&whose("s", "later"), 0, "x".into(), 0).await.expect("added");
        assert_eq!(ids(&store.pending(CHANNEL, None, 9).await.expect("asked")), [1, 2, 3, 4, 5, 8]);
        let moves: Vec<_> =
            store.load_moves(CHANNEL).await.expect("read").into_iter().map(|(from, _)| from).collect();
        assert_eq!(moves, ["a", "b", "c", "d"]);
    }
}

/// An engine takes as long as its disk does, and who is told may be a terminal that is stopped.
#[tokio::test]
async fn a_server_waits_for_the_other_engine_while_a_store_is_copied() {
    if !Schema::is_there("a_server_waits_for_the_other_engine") {
        return;
    }
    let (sqlite, postgres, back) =
        (Fixture::<Files>::new(), Fixture::<Schema>::new(), Fixture::<Files>::new());
    fill(&sqlite.store).await;
    // Longer than the server waits for a node that stands still.
    let slow = |table: &'static str, _: u64| {
        if table == "inbox" {
            std::thread::sleep(LEASE_LEAST + std::time::Duration::from_millis(500));
        }
    };
    sqlite.store.copy_into(&postgres.store, &slow).expect("copied");
    postgres.store.copy_into(&back.store, &slow).expect("copied");
    assert_eq!(rows(&back.store), rows(&sqlite.store));
}

/// Told as failed, it would be begun again, and find its own rows in the other store.
#[tokio::test]
async fn a_copy_that_is_there_is_told_as_done_also_where_the_connection_to_its_source_went() {
    let Some(server) = PostgresServer::start("a_copy_that_is_there_is_told_as_done") else { return };
    let (store, back) = (Store::open(location(&server, "here")).expect("a store"), Fixture::<Files>::new());
    fill(&store).await;
    let before = rows(&store);
    // It is the last one: everything was read by then.
    let goes = |table: &'static str, _: u64| {
        if table == "spoken_to" {
            server.sql(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'cofferdam'",
            );
        }
    };
    let copied = store.copy_into(&back.store, &goes).expect("copied");
    assert_eq!((copied, rows(&back.store)), (before.len() as u64, before));
}

/// A node that others took out does not know what they have written since.
#[tokio::test]
async fn a_node_that_was_taken_out_while_it_copied_leaves_nothing_in_the_other_store() {
    if !Schema::is_there("a_node_that_was_taken_out_while_it_copied") {
        return;
    }
    let (postgres, back) = (Fixture::<Schema>::new(), Fixture::<Files>::new());
    fill(&postgres.store).await;
    let node = nodes::join(&postgres.engine.location, "a").expect("it is the only one");
    let silent = |table: &'static str, _: u64| {
        if table == "inbox" {
            // As if it had stood still.
            postgres.sql("DELETE FROM node");
            let since = std::time::Instant::now();
            while node.has_lease() {
                assert!(since.elapsed() < std::time::Duration::from_secs(30), "it is told");
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    };
    let refused = node.copy_into(&back.store, &silent);
    assert!(matches!(refused, Err(StoreError::TakenOver)), "{refused:?}");
    assert!(rows(&back.store).is_empty());
}

/// What a copy knows of the tables is what the engines have.
#[tokio::test]
async fn both_engines_have_the_tables_that_are_copied() {
    if !Schema::is_there("both_engines_have_the_tables_that_are_copied") {
        return;
    }
    let (sqlite, postgres) = (Fixture::<Files>::new(), Fixture::<Schema>::new());
    let columns = |(table, columns, _): (&'static str, &'static str, Option<&str>)| {
        columns.split(", ").map(move |column| format!("{table}.{column}"))
    };
    let known: Vec<String> = TABLES.into_iter().flat_map(columns).collect();
    let of_sqlite = sqlite.store.write_here(|tx| {
        tx.query_rows(
            "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'",
            params![],
            |row| Ok(format!("{}.{}", row.get::<String>(0)?, row.get::<String>(1)?)),
        )
    });
    let sorted = |mut list: Vec<String>| {
        list.sort();
        list
    };
    assert_eq!(sorted(of_sqlite.expect("read")), sorted(known.clone()));
    let of_postgres = postgres.sql(&format!(
        "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = '{}'
         AND column_name <> 'rowid' AND table_name NOT IN ('audit_head', 'claim', 'committed', 'duty', 'heir', 'home', 'node', 'schema_version')
         AND (table_name, column_name) NOT IN (('reply', 'holder'), ('run', 'node'))",
        postgres.schema()
    ));
    assert_eq!(sorted(of_postgres.lines().map(str::to_owned).collect()), sorted(known));
}

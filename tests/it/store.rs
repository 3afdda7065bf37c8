//! `[store]` and `cofferdam store`: what is refused, a run of a workflow with a store in
//! PostgreSQL, and the way from one engine to the other and back.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;
use support::home::{Home, Ran};
use support::postgres::{PASSWORD, PostgresServer, new_schema, shared};
use support::tls::Authority;

const FLOW: &str = "workflow: copy\ntasks:\n\
    \x20 - { id: write, tool: file_write, with: { path: \"/shared/a.txt\", content: \"by {{ trigger.kind }}\" } }\n\
    \x20 - { id: read, tool: file.read, with: { path: \"{{ tasks.write.output.path }}\" } }\n\
    output: { text: \"{{ tasks.read.output.content }}\" }\n";

fn run_flow(home: &Home) -> Ran {
    let file = home.dir().join("copy.yaml");
    std::fs::write(&file, FLOW).expect("writable");
    let ran = home.run(&["run", file.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["output"], json!({ "text": "by cli" }));
    // Its file is not written a second time.
    std::fs::remove_file(home.host("/shared/a.txt")).expect("written");
    ran
}

fn list(home: &Home) -> Vec<String> {
    let listed = home.run(&["workflow", "list", "--json"]).json();
    let runs = listed["runs"].as_array().expect("runs").iter();
    runs.map(|run| run["run"].as_str().expect("an id").to_owned()).collect()
}

const POSTGRES: &str = "engine = \"postgres\"\nurl_env = \"GOOD_URL\"\n";

#[test]
fn what_is_wrong_in_the_section_is_refused_with_its_line() {
    let home = Home::new();
    let exposed = home.dir().join("exposed");
    std::fs::write(&exposed, format!("postgres://u:{PASSWORD}@localhost/d")).expect("writable");
    let remote = format!("postgres://u:{PASSWORD}@db.example/d?sslmode=disable");
    for (text, line, said) in [
        ("engine = \"mysql\"", 2, "`mysql`"),
        ("engine = \"postgres\"", 2, "url_env = \"DATABASE_URL\""),
        ("engine = \"postgres\"\nurl_env = \"GOOD_URL\"\nurl_file = \"x\"", 4, "take one of them out"),
        ("engine = \"postgres\"\nurl_env = \"MISSING_URL\"", 3, "MISSING_URL is not set"),
        (
            "engine = \"postgres\"\nurl_env = \"postgres://u@h/d\"",
            3,
            "not the name of an environment variable",
        ),
        (
            &format!("engine = \"postgres\"\nurl_file = \"postgres://u:{PASSWORD}@localhost/d\""),
            3,
            "url_file is a URL and not the path of a file",
        ),
        ("engine = \"postgres\"\nurl_file = \"nowhere\"", 3, "cannot read"),
        ("engine = \"postgres\"\nurl_file = \"exposed\"", 3, "can be read by others"),
        ("engine = \"postgres\"\nurl_env = \"REMOTE_URL\"", 3, "readable on the way"),
        ("engine = \"postgres\"\nurl_env = \"ODD_URL\"", 3, "is not understood"),
        ("engine = \"postgres\"\nurl_env = \"GOOD_URL\"\nschema = \"A b\"", 4, "is no name"),
        ("engine = \"sqlite\"\nurl_env = \"GOOD_URL\"", 3, "write engine = \"postgres\""),
        ("schema = \"x\"", 2, "write engine = \"postgres\""),
        (&format!("{POSTGRES}[cluster]\nnode = \"a b\""), 5, "is no name of a node"),
        (&format!("{POSTGRES}[cluster]\nlease = \"2s\""), 5, "is not from 3s to 10m"),
        (&format!("{POSTGRES}[cluster]\nlease = \"11m\""), 5, "is not from 3s to 10m"),
        (&format!("{POSTGRES}[cluster]\nnodes = 3"), 5, "unknown field `nodes`"),
        ("[cluster]\nnode = \"a\"", 3, "write engine = \"postgres\" in [store]"),
        ("[workspace]\naffinity = \"user\"", 3, "affinity = \"user\" needs per_user = true"),
        ("[workspace]\nper_user = true\naffinity = \"user\"", 4, "write engine = \"postgres\" in [store]"),
        ("[workspace]\naffinity = \"host\"", 3, "unknown variant `host`, expected `none` or `user`"),
    ] {
        let workspace = if text.contains("[workspace]") { "" } else { "[workspace]\nroot = \"workspace\"\n" };
        let rest = format!("{workspace}[state]\ndir = \"state\"\n");
        std::fs::write(home.config_file(), format!("[store]\n{text}\n{rest}")).expect("writable");
        let mut command = home.command(&["tools"]);
        command.env("REMOTE_URL", &remote).env("ODD_URL", format!("u:{PASSWORD}@x"));
        let ran = Ran::from(command.env("GOOD_URL", "postgres://u@localhost/d").output().expect("it runs"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{text}: {ran:?}");
        assert!(ran.stderr.contains(&format!("cofferdam.toml:{line}: ")), "{text}: {ran:?}");
        assert!(ran.stderr.contains(said), "{text}: {ran:?}");
        assert!(!ran.stderr.contains(PASSWORD), "{ran:?}");
    }
}

#[test]
fn a_run_of_a_workflow_is_kept_in_postgresql() {
    let Some(server) = shared("store::a_run_of_a_workflow") else { return };
    let home = Home::new().postgres(server, &new_schema());
    assert!(list(&home).is_empty(), "who asks makes nothing");
    assert!(home.run(&["doctor"]).stdout.contains("reachable, without tables yet"));
    let ran = run_flow(&home);
    assert_eq!(list(&home), [ran.json()["run"].as_str().expect("an id")]);
    assert!(!home.state().join("cofferdam.db").exists());
    let migrated = home.run(&["store", "migrate"]);
    assert!(migrated.code == Some(0) && migrated.stdout.contains("already"), "{migrated:?}");
}

#[test]
fn a_run_that_failed_goes_on_in_postgresql() {
    let Some(server) = shared("store::a_run_that_failed") else { return };
    let home = Home::new().postgres(server, &new_schema());
    let file = home.dir().join("read.yaml");
    let flow = "workflow: read\ntasks:\n  - { id: read, tool: file.read, with: { path: /shared/in.txt } }\n";
    std::fs::write(&file, flow).expect("writable");
    let failed = home.run(&["run", file.to_str().expect("UTF-8")]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    std::fs::write(home.host("/shared/in.txt"), "now").expect("writable");
    let line = failed.json();
    let resumed = home.run(&["workflow", "resume", line["run"].as_str().expect("an id")]);
    assert!(resumed.code == Some(0) && resumed.stdout.contains("now"), "{resumed:?}");
}

/// Its first commit waits for a standby that nobody has, and then the server goes.
#[test]
fn a_run_that_is_stopped_does_not_wait_for_the_answer_to_a_commit() {
    let Some(mut server) = PostgresServer::start("store::a_run_that_is_stopped") else { return };
    let home = Home::new().postgres(&server, &new_schema());
    run_flow(&home);
    server.set("synchronous_standby_names", "nobody");
    let file = home.dir().join("copy.yaml");
    let mut run = loop {
        let mut run = home.command(&["run", file.to_str().expect("UTF-8")]);
        let mut run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
        let is_held = loop {
            if server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1" {
                break true;
            }
            if run.try_wait().expect("ours").is_some() {
                break false;
            }
        };
        // A process of the server follows the setting a moment later.
        if is_held {
            break run;
        }
        std::fs::remove_file(home.host("/shared/a.txt")).expect("written");
    };
    server.stop();
    let mut said = BufReader::new(run.stderr.take().expect("piped")).lines();
    let asks = |line: &str| line.contains("whether a change was kept is not known yet");
    assert!(said.any(|line| asks(&line.expect("text"))), "it asks until the server answers");
    kill_process(Pid::from_child(&run), Signal::INT).expect("it runs");
    assert_ne!(run.wait().expect("it ends").code(), Some(0));
    assert!(said.any(|line| line.expect("text").contains("whether it was kept is not known")));
}

#[test]
fn tables_of_a_newer_release_are_refused_by_every_command() {
    let Some(server) = shared("store::tables_of_a_newer_release") else { return };
    let schema = new_schema();
    let home = Home::new().postgres(server, &schema);
    let made = home.run(&["store", "migrate"]);
    assert!(made.code == Some(0) && made.stdout.contains("was made"), "{made:?}");
    server.sql(&format!("UPDATE {schema}.schema_version SET version = 99"));
    for words in [&["store", "migrate"][..], &["workflow", "list"], &["store", "copy", "postgres", "sqlite"]]
    {
        let ran = home.run(words);
        assert!(ran.code == Some(2) && ran.stderr.contains("run the newer release"), "{words:?}: {ran:?}");
    }
    let doctor = home.run(&["doctor"]);
    assert!(doctor.code == Some(3) && doctor.stdout.contains("version 99"), "{doctor:?}");
    assert_eq!(server.sql(&format!("SELECT version FROM {schema}.schema_version")), "99");
}

/// A gateway of that release may be at them.
#[test]
fn tables_of_an_older_release_are_left_as_they_are_by_commands_beside_a_gateway() {
    let home = Home::new();
    run_flow(&home);
    let kept = list(&home);
    let database = rusqlite::Connection::open(home.state().join("cofferdam.db")).expect("there");
    let version = || database.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    let known = version().expect("readable");
    database.pragma_update(None, "user_version", known - 1).expect("writable");
    for words in [
        &["workflow", "list"][..],
        &["workflow", "list", "--json"],
        &["workflow", "show", &kept[0]],
        &["workflow", "cancel", &kept[0]],
    ] {
        let ran = home.run(words);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{words:?}: {ran:?}");
        assert!(ran.stderr.contains("then run `cofferdam store migrate`"), "{words:?}: {ran:?}");
        assert_eq!(version().expect("readable"), known - 1, "{words:?}");
    }
    database.pragma_update(None, "user_version", known).expect("writable");
    assert_eq!(list(&home), kept);
}

#[test]
fn a_gateway_moves_to_postgresql_and_back() {
    let Some(server) = shared("store::a_gateway_moves") else { return };
    let home = Home::new();
    let (first, schema) = (run_flow(&home), new_schema());
    let kept = list(&home);
    let without = home.run(&["store", "copy", "sqlite", "postgres"]);
    assert!(without.code == Some(2) && without.stderr.contains("names no PostgreSQL"), "{without:?}");
    let home = home.postgres(server, &schema);
    let same = home.run(&["store", "copy", "postgres", "postgres"]);
    assert!(same.code == Some(2) && same.stderr.contains("the same"), "{same:?}");
    let nothing = home.run(&["store", "copy", "postgres", "sqlite"]);
    assert!(nothing.code == Some(2) && nothing.stderr.contains("nothing to copy"), "{nothing:?}");
    let copied = home.run(&["store", "copy", "sqlite", "postgres"]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    assert!(copied.stdout.contains("engine = \"postgres\""), "{copied:?}");
    assert!(copied.stderr.contains("run_task: 2 rows"), "{copied:?}");
    assert_eq!(list(&home), kept);
    let shown = home.run(&["workflow", "show", &kept[0], "--json"]).json();
    assert_eq!(shown["tasks"], first.json()["tasks"]);
    let again = home.run(&["store", "copy", "sqlite", "postgres"]);
    assert!(again.code == Some(2) && again.stderr.contains("rows in journal already"), "{again:?}");
    // As after a kill behind the commit, before the last line.
    let tells =
        again.stderr.contains("that copy is whole") && again.stderr.contains("`cofferdam workflow list`");
    assert!(tells, "{again:?}");
    run_flow(&home);
    let moved = list(&home);
    assert_eq!(moved.len(), 2);
    std::fs::remove_file(home.state().join("cofferdam.db")).expect("it is left where it was");
    let back = home.run(&["store", "copy", "postgres", "sqlite"]);
    assert!(back.code == Some(0) && back.stdout.contains("engine = \"sqlite\""), "{back:?}");
    let text = std::fs::read_to_string(home.config_file()).expect("there");
    let (before, after) = text.split_once("[store]").expect("it has the section");
    let after = after.split_once("schema = ").expect("and its keys").1.split_once('\n').expect("a line").1;
    std::fs::write(home.config_file(), format!("{before}{after}")).expect("writable");
    assert_eq!(list(&home), moved);
}

#[test]
fn a_server_elsewhere_is_spoken_to_over_tls_and_its_certificate_is_verified() -> anyhow::Result<()> {
    let Some(mut server) = PostgresServer::start("store::a_server_elsewhere") else { return Ok(()) };
    let authority = Authority::new()?;
    let (certificate, key) = authority.issue("localhost")?;
    let port = server.encrypt(&certificate, &key);
    let migrates = |host: &str, trusted: bool| {
        let url = format!("postgres://cofferdam:{PASSWORD}@{host}:{port}/postgres?sslmode=require");
        let mut home = Home::new().postgres_at(&url, "here");
        std::fs::write(home.dir().join("ca.pem"), authority.pem()).expect("writable");
        if trusted {
            home = home.config("[network]\nca_file = \"ca.pem\"\n");
        }
        let ran = home.run(&["store", "migrate"]);
        assert!(!ran.stderr.contains(PASSWORD), "{ran:?}");
        ran
    };
    for (host, trusted) in [("localhost", false), ("127.0.0.1", true)] {
        let refused = migrates(host, trusted);
        assert!(refused.code == Some(2) && refused.stderr.contains("certificate"), "{host}: {refused:?}");
    }
    let sound = migrates("localhost", true);
    assert!(sound.code == Some(0) && sound.stdout.contains("was made"), "{sound:?}");
    Ok(())
}

/// Enough rows that a kill meets the copy in their midst.
const LINES: usize = 30_000;

#[test]
fn a_copy_that_is_killed_leaves_nothing_and_is_made_again() {
    let Some(server) = shared("store::a_copy_that_is_killed") else { return };
    let schema = new_schema();
    let home = Home::new().postgres(server, &schema);
    assert_eq!(home.run(&["store", "migrate"]).code, Some(0));
    server.sql(&format!(
        "INSERT INTO {schema}.line (session, turn, n, body, said_at)
         SELECT 's', 't', n, repeat('x', 200), n FROM generate_series(1, {LINES}) AS n"
    ));
    let copied = home.run(&["store", "copy", "postgres", "sqlite"]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    server.sql(&format!("DROP SCHEMA {schema} CASCADE"));
    let count = |server: &PostgresServer| {
        let there = server.sql(&format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{schema}'"));
        if there == "0" {
            0
        } else {
            server.sql(&format!("SELECT count(*) FROM {schema}.line")).parse().expect("a number")
        }
    };
    for pause in [50, 300, 700] {
        let mut copy = home.command(&["store", "copy", "sqlite", "postgres"]);
        let mut copy = copy.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        std::thread::sleep(Duration::from_millis(pause));
        copy.kill().expect("ours");
        copy.wait().expect("ours");
        assert_eq!(count(server), 0, "all or nothing");
    }
    let copied = home.run(&["store", "copy", "sqlite", "postgres"]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    assert_eq!(count(server), LINES);
}

#[test]
fn a_gateway_that_serves_is_not_copied() -> anyhow::Result<()> {
    let Some(server) = shared("store::a_gateway_that_serves") else { return Ok(()) };
    let home = Home::new().postgres(server, &new_schema());
    assert_eq!(home.run(&["store", "migrate"]).code, Some(0));
    let lock = std::fs::File::create(home.state().join("serve.lock"))?;
    lock.lock()?;
    let refused = home.run(&["store", "copy", "postgres", "sqlite"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("serve"), "{refused:?}");
    Ok(())
}

#[test]
fn a_copy_that_is_there_is_told_as_done_also_where_its_node_cannot_leave() {
    let Some(server) = shared("store::a_copy_that_is_there_is_told_as_done") else { return };
    let schema = new_schema();
    let home = Home::new().postgres(server, &schema);
    run_flow(&home);
    server.sql(&format!(
        "CREATE FUNCTION {schema}.stay() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'it stays'; END $$;
         CREATE TRIGGER stays BEFORE DELETE ON {schema}.node FOR EACH ROW EXECUTE FUNCTION {schema}.stay()"
    ));
    let copied = home.run(&["store", "copy", "postgres", "sqlite"]);
    assert!(copied.code == Some(0) && copied.stdout.contains("were copied and counted"), "{copied:?}");
    assert!(copied.stderr.contains("the store was not handed back"), "{copied:?}");
}

#[test]
fn no_run_is_begun_while_a_store_is_copied() -> anyhow::Result<()> {
    let home = Home::new();
    let ran = run_flow(&home);
    let lock = std::fs::File::options().write(true).open(home.state().join("runs.lock"))?;
    lock.lock()?;
    let (file, line) = (home.dir().join("copy.yaml"), ran.json());
    let id = line["run"].as_str().expect("an id");
    for words in [&["run", file.to_str().expect("UTF-8")][..], &["workflow", "resume", id]] {
        let refused = home.run(words);
        let tells = refused.stderr.contains("`cofferdam store copy` is under way");
        assert!(refused.code == Some(2) && refused.stdout.is_empty() && tells, "{words:?}: {refused:?}");
    }
    assert_eq!(list(&home), [id], "nothing began");
    Ok(())
}

//! Sessions and users: whose files are where, that they are nobody else's, and when they go.

use super::races::Disturbance;
use super::*;
use crate::publish::temp::PREFIX;
use crate::publish::{Expired, FileOwner, PLACES_OPEN_MAX, SESSION_TMP_AGE};
use Disposition::CreateNew;
use cofferdam_core::audit::CallFacts;
use cofferdam_core::id::{Caller, SessionId, TurnId};
use rustix::fs::{FlockOperation, flock};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Workspaces in a directory of their own.
struct House {
    outer: tempfile::TempDir,
    workspaces: Workspaces,
}

#[derive(Clone, Copy)]
enum Users {
    Shared,
    PerUser,
}

impl House {
    fn new(users: Users) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let workspaces = open(outer.path(), users, ByteSize::mib(64));
        Self { outer, workspaces }
    }

    fn root(&self) -> PathBuf {
        self.outer.path().join("workspace")
    }

    /// What another gateway of the same root has.
    fn another(&self) -> Workspaces {
        open(self.outer.path(), Users::Shared, ByteSize::mib(64))
    }

    fn at(&self, sender: &str, session: &str) -> Arc<Workspace> {
        self.workspaces.open_for(&place(&self.workspaces, sender, session)).unwrap()
    }

    /// The session's folder on the host, whether it is there or not.
    fn folder(&self, sender: &str, session: &str) -> PathBuf {
        // Without the slash at the end.
        self.root().join(place(&self.workspaces, sender, session).folder()).components().collect()
    }

    /// Sets when a session was used last.
    fn used(&self, session: &str, before_now: Duration) -> PathBuf {
        let folder = self.folder("1", session);
        set_time(&folder, SystemTime::now() - before_now);
        folder
    }
}

fn set_time(folder: &Path, time: SystemTime) {
    fs::File::open(folder).unwrap().set_modified(time).unwrap();
}

fn open(outer: &Path, users: Users, max_bytes: ByteSize) -> Workspaces {
    let config = Config::shared(outer.join("workspace"), max_bytes);
    let config = Config { per_user: matches!(users, Users::PerUser), ..config };
    Workspaces::open_with(&config, StagingMethod::detect(), Mode::from_raw_mode(0o022)).unwrap()
}

/// The place of a call; no session for "".
fn place(workspaces: &Workspaces, sender: &str, session: &str) -> FileOwner {
    let turn = TurnId::new("t");
    FileOwner::from_facts(&CallFacts {
        call: turn.call(0),
        turn,
        session: (!session.is_empty()).then(|| SessionId::new(session)),
        caller: Caller { channel: "telegram".into(), sender: sender.into() },
        own_workspace: workspaces.is_per_user(),
        tool: "t".into(),
        component_sha256: None,
        policy_sha256: None,
        profile: None,
        arguments: serde_json::Value::Null,
        arguments_sha256: String::new(),
    })
}

fn save(workspace: &Arc<Workspace>, at: &str, bytes: &[u8]) -> Result<(), ToolError> {
    let mut staged = workspace.stage(&path(at), CreateNew, &budget())?;
    staged.write(bytes)?;
    workspace.publish(vec![PlannedChange::Write(staged.seal()?)])?;
    Ok(())
}

fn bytes_of(workspace: &Workspace, at: &str) -> Option<u64> {
    workspace.look(&path(at), None).unwrap().map(|facts| facts.bytes)
}

const LONG: Duration = SESSION_TMP_AGE.0;

#[test]
fn each_session_has_its_tmp_and_all_share_the_rest() {
    let house = House::new(Users::Shared);
    let (one, other, none) = (house.at("1", "a:1/0"), house.at("1", "a:2/0"), house.at("1", ""));
    for (n, workspace) in [&one, &other, &none].into_iter().enumerate() {
        save(workspace, "/tmp/same", &vec![0; n + 1]).unwrap();
    }
    for (n, workspace) in [&one, &other, &none].into_iter().enumerate() {
        assert_eq!(bytes_of(workspace, "/tmp/same"), Some(n as u64 + 1));
    }
    save(&one, "/shared/all", b"x").unwrap();
    assert_eq!((bytes_of(&other, "/shared/all"), bytes_of(&none, "/shared/all")), (Some(1), Some(1)));
    // For all who ask in the session: it is a conversation's, not a person's.
    assert_eq!(bytes_of(&house.at("2", "a:1/0"), "/tmp/same"), Some(1));
    assert!(house.root().join("tmp/same").exists() && house.root().join("shared/all").exists());
    let folder = house.folder("1", "a:1/0");
    assert!(folder.join("tmp/same").exists());
    for private in [&folder, folder.parent().unwrap()] {
        assert_eq!(mode_of(private), 0o700, "{}", private.display());
    }
    assert!(!house.root().join("users").exists());
}

#[test]
fn each_user_has_an_own_workspace_where_that_is_configured() {
    let house = House::new(Users::PerUser);
    let (ann, ben) = (house.at("1", "a:9/0"), house.at("2", "a:9/0"));
    for at in ["/shared/x", "/vault/x", "/tmp/x"] {
        save(&ann, at, b"ann").unwrap();
        assert_eq!(bytes_of(&ben, at), None, "{at}");
        save(&ben, at, b"ben's").unwrap();
        assert_eq!((bytes_of(&ann, at), bytes_of(&ben, at)), (Some(3), Some(5)), "{at}");
    }
    // The same person in another chat, and in none.
    let (chat, alone) = (house.at("1", "a:8/0"), house.at("1", ""));
    assert_eq!((bytes_of(&chat, "/shared/x"), bytes_of(&chat, "/tmp/x")), (Some(3), None));
    assert_eq!((bytes_of(&alone, "/vault/x"), bytes_of(&alone, "/tmp/x")), (Some(3), None));
    assert!(house.root().join("users/telegram-1/shared/x").exists());
    for mount in ["shared", "tmp", "vault"] {
        assert_eq!(fs::read_dir(house.root().join(mount)).unwrap().count(), 0, "{mount} is nobody's");
    }
    assert_eq!(mode_of(&house.root().join("users/telegram-1")), 0o700);
}

#[test]
fn a_session_moves_files_to_its_tmp_and_back_and_nowhere_else() {
    let house = House::new(Users::PerUser);
    let (ann, ben) = (house.at("1", "a:9/0"), house.at("2", "a:9/0"));
    save(&ann, "/shared/file", b"mine").unwrap();
    for (from, to) in [("/shared/file", "/tmp/d/file"), ("/tmp/d/file", "/vault/back")] {
        let (plan, _) = ann.plan_rename(&path(from), &path(to), CreateNew, &budget()).unwrap();
        assert!(matches!(plan.as_slice(), [PlannedChange::Rename(_)]), "one step, so the same filesystem");
        ann.publish(plan).unwrap();
    }
    assert_eq!(bytes_of(&ann, "/vault/back"), Some(4));
    // No path leads from one to the other: neither as it is written, nor through a link.
    let tmp = house.folder("1", "a:9/0").join("tmp");
    let other = house.folder("2", "a:9/0").join("tmp");
    save(&ben, "/tmp/secret", b"ben's").unwrap();
    symlink(&other, tmp.join("absolute")).unwrap();
    symlink("../../../../telegram-2/shared", tmp.join("relative")).unwrap();
    symlink(other.join("secret"), tmp.join("leaf")).unwrap();
    for at in ["/tmp/absolute/secret", "/tmp/relative/secret", "/tmp/leaf"] {
        assert_eq!(ann.look(&path(at), None).unwrap(), None, "{at}");
        let mut copy = ann.stage(&path("/shared/copy"), CreateNew, &budget()).unwrap();
        assert_eq!(
            copy.append_file(&path(at), LinkRule::Follow, ExpectedEntry::Anything).unwrap_err().code(),
            ErrorCode::PathDenied,
            "{at}"
        );
        assert!(ann.plan_rename(&path(at), &path("/shared/copy"), CreateNew, &budget()).is_err(), "{at}");
        let to = path(&format!("{at}/new"));
        assert!(ann.plan_rename(&path("/vault/back"), &to, CreateNew, &budget()).is_err(), "{at}");
        assert!(save(&ann, &to.to_string(), b"x").is_err(), "{at}");
    }
    assert_eq!(fs::read_dir(other).unwrap().count(), 1);
}

#[test]
fn a_bounded_number_of_places_stays_open_and_one_in_use_always_does() {
    let house = House::new(Users::Shared);
    let used = house.at("1", "used");
    let planned = house.at("1", "planned").stage(&path("/tmp/x"), CreateNew, &budget()).unwrap();
    for n in 0..PLACES_OPEN_MAX * 2 {
        house.at("1", &n.to_string());
        assert!(cofferdam_core::lock::lock(&house.workspaces.open).len() <= PLACES_OPEN_MAX);
    }
    assert!(Arc::ptr_eq(&used, &house.at("1", "used")), "its mounts are open once");
    let again = house.at("1", "planned");
    drop(planned);
    assert!(Arc::ptr_eq(&again, &house.at("1", "planned")));
    // An unused one is opened anew, and nothing is lost.
    save(&house.at("1", "0"), "/tmp/file", b"x").unwrap();
    for n in 1..PLACES_OPEN_MAX * 2 {
        house.at("1", &n.to_string());
    }
    assert_eq!(bytes_of(&house.at("1", "0"), "/tmp/file"), Some(1));
}

#[test]
fn what_was_not_used_for_long_goes_and_nothing_else() {
    let house = House::new(Users::Shared);
    let outside = house.outer.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "kept").unwrap();
    for session in ["old", "young", "future", "locked"] {
        let workspace = house.at("1", session);
        save(&workspace, "/tmp/d/file", b"x").unwrap();
        save(&workspace, &format!("/shared/{session}"), b"x").unwrap();
    }
    let tmp = house.folder("1", "old").join("tmp");
    symlink(&outside, tmp.join("link")).unwrap();
    symlink("../../..", tmp.join("up")).unwrap();
    fs::hard_link(outside.join("file"), tmp.join("hard")).unwrap();
    // This process used them just now: it does not matter what the clock says.
    let now = SystemTime::now();
    assert_eq!(house.workspaces.expire(now + LONG * 2), Expired::default());

    let old = house.used("old", LONG + Duration::from_secs(60));
    let young = house.used("young", LONG - Duration::from_secs(60));
    let locked = house.used("locked", LONG * 10);
    let future = house.folder("1", "future");
    set_time(&future, now + LONG * 10);
    let lock = fs::File::open(&locked).unwrap();
    flock(&lock, FlockOperation::LockShared).unwrap();
    // A crash left a staged file in one that stays, and a folder half removed.
    fs::write(young.join(format!("tmp/{PREFIX}1")), "staged").unwrap();
    fs::create_dir(old.with_file_name(format!("{PREFIX}2"))).unwrap();

    // Another gateway knows of no use but what lies on disk. The first has them open, and so
    // locked.
    let another = house.another();
    assert_eq!(another.expire(now), Expired { leftovers: 2, ..Expired::default() });
    let House { outer, workspaces } = house;
    drop(workspaces);
    assert_eq!(another.expire(now), Expired { sessions: 1, leftovers: 1, left: 0 });
    assert!(!old.exists() && young.join("tmp/d/file").exists());
    assert!(future.join("tmp/d/file").exists() && locked.join("tmp/d/file").exists());
    assert_eq!(fs::read_dir(old.parent().unwrap()).unwrap().count(), 3, "nothing is left of it");
    assert_eq!(fs::read_dir(outer.path().join("workspace/shared")).unwrap().count(), 4);
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"kept");
    drop(lock);
    assert_eq!(another.expire(now).sessions, 1);
    assert!(!locked.exists());
    // It comes back empty.
    let again = another.open_for(&place(&another, "1", "old")).unwrap();
    assert_eq!(bytes_of(&again, "/tmp/d/file"), None);
    save(&again, "/tmp/d/file", b"new").unwrap();
}

#[test]
fn a_folder_that_somebody_keeps_locked_is_given_up() {
    let house = House::new(Users::Shared);
    let session = place(&house.workspaces, "1", "s");
    let made = house.another();
    save(&made.open_for(&session).unwrap(), "/tmp/file", b"x").unwrap();
    drop(made);
    // As a removal has it for one rename.
    let lock = fs::File::open(house.folder("1", "s")).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    let refused = house.workspaces.open_for(&session).map(|_| ()).unwrap_err().to_string();
    let folder = house.folder("1", "s");
    assert!(refused.starts_with(&format!("{} is kept locked", folder.display())), "{refused}");
    assert_eq!(cofferdam_core::lock::lock(&house.workspaces.open).len(), 0);
    let other = house.at("1", "t");
    save(&other, "/tmp/file", b"x").unwrap();
    drop(lock);
    assert_eq!(bytes_of(&house.at("1", "s"), "/tmp/file"), Some(1));
}

#[test]
fn a_session_is_used_by_each_of_its_calls() {
    let house = House::new(Users::Shared);
    save(&house.at("1", "s"), "/tmp/file", b"x").unwrap();
    let age = |folder: &Path| fs::metadata(folder).unwrap().modified().unwrap().elapsed().unwrap();
    // Open still, and opened by another gateway.
    let another = house.another();
    for workspaces in [&house.workspaces, &another] {
        let folder = house.used("s", LONG * 2);
        assert!(age(&folder) > LONG);
        let workspace = workspaces.open_for(&place(workspaces, "1", "s")).unwrap();
        assert!(age(&folder) < LONG);
        assert_eq!(bytes_of(&workspace, "/tmp/file"), Some(1));
    }
}

#[test]
fn a_users_sessions_go_and_the_user_s_files_stay() {
    let house = House::new(Users::PerUser);
    for at in ["/tmp/x", "/shared/x", "/vault/x"] {
        save(&house.at("1", "s"), at, b"x").unwrap();
    }
    save(&house.at("1", ""), "/tmp/own", b"x").unwrap();
    let folder = house.used("s", LONG * 2);
    let root = house.root();
    let House { outer, workspaces } = house;
    drop(workspaces);
    let another = open(outer.path(), Users::PerUser, ByteSize::mib(64));
    assert_eq!(another.expire(SystemTime::now()), Expired { sessions: 1, leftovers: 1, left: 0 });
    assert!(!folder.exists());
    for kept in ["shared/x", "vault/x", "tmp/own"] {
        assert!(root.join("users/telegram-1").join(kept).exists(), "{kept}");
    }
}

#[test]
fn a_call_keeps_its_files_however_often_others_remove_what_is_unused() {
    let house = House::new(Users::Shared);
    let another = house.another();
    let (gone, disturbance) = (AtomicU64::new(0), Disturbance::new());
    std::thread::scope(|scope| {
        let _end = disturbance.guard();
        scope.spawn(|| {
            while disturbance.goes_on() {
                gone.fetch_add(another.expire(SystemTime::now() + LONG * 2).sessions, Ordering::Relaxed);
            }
        });
        let mut n = 0;
        while n < 200 || gone.load(Ordering::Relaxed) == 0 {
            n += 1;
            let workspace = house.at("1", "busy");
            let at = format!("/tmp/{n}");
            save(&workspace, &at, b"x").unwrap();
            assert_eq!(bytes_of(&workspace, &at), Some(1));
            assert!(house.folder("1", "busy").join("tmp").join(n.to_string()).exists(), "under its name");
            drop(workspace);
            // Closed, it is there to be removed.
            house.workspaces.close_unused(&place(&house.workspaces, "1", "busy").folder(), Duration::ZERO);
        }
    });
}

#[test]
fn one_quota_holds_over_all_sessions_and_users() {
    for users in [Users::Shared, Users::PerUser] {
        let outer = tempfile::tempdir().unwrap();
        let workspaces = open(outer.path(), users, ByteSize::kib(10));
        let at = |sender, session| workspaces.open_for(&place(&workspaces, sender, session)).unwrap();
        save(&at("1", "a"), "/tmp/x", &[0; 4096]).unwrap();
        save(&at("2", "b"), "/tmp/x", &[0; 3072]).unwrap();
        save(&at("2", "b"), "/shared/x", &[0; 2048]).unwrap();
        // Kept as the files land, and as a later start measures them.
        for workspaces in [&workspaces, &open(outer.path(), users, ByteSize::kib(10))] {
            let one = workspaces.open_for(&place(workspaces, "1", "a")).unwrap();
            let error = save(&one, "/tmp/y", &[0; 1025]).unwrap_err();
            assert_eq!(error.code, ErrorCode::QuotaExceeded, "{error}");
        }
        save(&at("1", "a"), "/tmp/y", &[0; 1024]).unwrap();
        // What a crash left of a staged file counts nowhere.
        let hidden = at("1", "a").mount("/tmp").unwrap().try_clone().unwrap();
        hidden.write(format!("{PREFIX}x"), [0; 9000]).unwrap();
        hidden.remove_file("y").unwrap();
        let later = open(outer.path(), users, ByteSize::kib(10));
        let one = later.open_for(&place(&later, "3", "c")).unwrap();
        save(&one, "/tmp/z", &[0; 1024]).unwrap();
    }
}

#[test]
fn a_folder_that_is_a_link_is_not_a_session_s() {
    let house = House::new(Users::PerUser);
    let elsewhere = house.outer.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let folder = house.folder("1", "s");
    let user = house.root().join("users/telegram-1");
    for linked in [folder.join("tmp"), folder, user.join("sessions"), user.join("shared"), user.clone()] {
        let another = open(house.outer.path(), Users::PerUser, ByteSize::mib(64));
        another.open_for(&place(&another, "1", "s")).unwrap();
        fs::remove_dir_all(&linked).unwrap();
        symlink(&elsewhere, &linked).unwrap();
        let another = open(house.outer.path(), Users::PerUser, ByteSize::mib(64));
        let Err(error) = another.open_for(&place(&another, "1", "s")) else { panic!("it opened") };
        assert!(error.to_string().contains("must be a directory"), "{error}");
        // Nor is anything removed through it.
        let kept = elsewhere.join(format!("{PREFIX}kept"));
        fs::write(&kept, "x").unwrap();
        another.expire(SystemTime::now() + LONG * 2);
        assert!(kept.exists(), "{}", linked.display());
        let _ = fs::remove_file(&linked);
    }
}

//! Which workspace a call is in, and the names of its folders.
//!
//! Pure. A name on disk holds nothing that a sender chose: what is not a plain number or word of a
//! channel is there as its hash.

use cofferdam_core::audit::{CallFacts, sha256_hex};
use cofferdam_core::id::{Caller, SessionId};

/// Holds a folder for each session, in it `tmp`.
pub(super) const SESSIONS: &str = "sessions";
/// Holds a folder for each user, laid out as the root is.
pub(super) const USERS: &str = "users";

/// The mount that is a session's own.
pub(super) const TMP: &str = "/tmp";

/// The folders of the root in which mounts lie.
pub const HOLDERS: &[&str] = &[SESSIONS, USERS];

/// Whose files a call sees: its session's `/tmp`, and its user's `/shared` and `/vault` where users
/// have their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOwner {
    user: Option<Caller>,
    session: Option<SessionId>,
}

/// The most of a session's name that its folder shows before the hash, for people who look there.
const SHOWN_CHARS: usize = 32;
/// 128 bits of SHA-256, in hex.
const HASH_CHARS: usize = 32;
/// The digits of any number of 64 bits.
const DIGITS: usize = 20;

impl FileOwner {
    /// The place that a call's audit records name.
    pub fn from_facts(facts: &CallFacts) -> Self {
        let user = facts.own_workspace.then(|| facts.caller.clone());
        Self { user, session: facts.session.clone() }
    }

    /// The place of somebody in a session, if there is one; `own` is theirs where users have their
    /// own.
    pub fn new(own: Option<Caller>, session: Option<SessionId>) -> Self {
        Self { user: own, session }
    }

    /// The same without a session: where its user's files are.
    pub(super) fn for_user(&self) -> Self {
        Self { user: self.user.clone(), session: None }
    }

    /// The name of the user's folder in [`USERS`], where users have their own.
    pub(super) fn user(&self) -> Option<String> {
        self.user.as_ref().map(user_name)
    }

    /// The name of the session's folder in [`SESSIONS`].
    pub(super) fn session(&self) -> Option<String> {
        self.session.as_ref().map(|session| hashed_name(session.as_str(), session.as_str()))
    }

    /// The folder of a mount, such as `/tmp`, below the root.
    pub fn mount_folder(&self, mount: &str) -> String {
        let place = if mount == TMP { self.clone() } else { self.for_user() };
        format!("{}{}", place.folder(), mount.trim_start_matches('/'))
    }

    /// Its folder below the root, different for each place; empty for the usual one.
    pub(super) fn folder(&self) -> String {
        let user = self.user().map(|user| format!("{USERS}/{user}/"));
        let session = self.session().map(|session| format!("{SESSIONS}/{session}/"));
        [user, session].into_iter().flatten().collect()
    }
}

/// `telegram-123456789`; of anything but a word and a number the hash.
fn user_name(Caller { channel, sender }: &Caller) -> String {
    let is_word = !channel.is_empty() && channel.bytes().all(|b| b.is_ascii_lowercase());
    let is_number = (1..=DIGITS).contains(&sender.len()) && sender.bytes().all(|b| b.is_ascii_digit());
    if is_word && channel.len() <= SHOWN_CHARS && is_number {
        return format!("{channel}-{sender}");
    }
    // The length keeps apart what runs together otherwise.
    hashed_name(channel, &format!("{}:{channel}{sender}", channel.len()))
}

/// Some of `shown` that any filesystem takes, and the hash of `whole`.
fn hashed_name(shown: &str, whole: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let shown: String = shown.chars().take(SHOWN_CHARS).map(plain).collect();
    format!("{shown}-{}", &sha256_hex(whole.as_bytes())[..HASH_CHARS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn caller(channel: &str, sender: &str) -> Caller {
        Caller { channel: channel.into(), sender: sender.into() }
    }

    fn place(user: Option<(&str, &str)>, session: Option<&str>) -> FileOwner {
        FileOwner {
            user: user.map(|(channel, sender)| caller(channel, sender)),
            session: session.map(SessionId::new),
        }
    }

    #[test]
    fn a_session_has_its_own_tmp_and_its_users_other_mounts() {
        let place = place(Some(("telegram", "7")), Some("telegram-7:7/0"));
        assert_eq!(place.mount_folder("/shared"), "users/telegram-7/shared");
        assert_eq!(place.mount_folder("/tmp"), format!("{}tmp", place.folder()));
        assert_eq!(FileOwner::default().mount_folder("/vault"), "vault");
    }

    #[test]
    fn people_find_the_folders_of_a_user_and_a_session() {
        assert_eq!(place(None, None).folder(), "");
        assert_eq!(place(Some(("telegram", "7")), None).folder(), "users/telegram-7/");
        let session = "sessions/telegram-99--1001-3-702834f2a5b721144f42d4db8799ebdf/";
        let id = "telegram-99:-1001/3";
        assert_eq!(place(None, Some(id)).folder(), session);
        assert_eq!(place(Some(("cli", "0")), Some(id)).folder(), format!("users/cli-0/{session}"));
    }

    #[test]
    fn whatever_the_ids_are_the_names_are_plain_short_and_different() {
        let long = "9".repeat(5000);
        let odd = [
            "",
            ".",
            "..",
            "../..",
            "/",
            "a/b",
            "\0",
            "-",
            "ä",
            ".cofferdam-tmp-1",
            "A",
            "a",
            &long,
            "1",
            "01",
        ];
        let mut names = BTreeSet::new();
        for one in odd {
            names.insert(place(None, Some(one)).session().expect("one"));
            for other in odd {
                names.insert(place(Some((one, other)), None).user().expect("one"));
            }
        }
        assert_eq!(names.len(), odd.len() + odd.len() * odd.len());
        for name in names {
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(name.len() <= 80 && name.bytes().all(plain), "{name}");
            assert!(!name.is_empty());
        }
    }
}

//! The keys of a channel's section that say who is served and who approves: numeric ids alone,
//! since names change hands.

use super::{Group, GroupMembers};
use cofferdam_agent::server::UnusableKey;
use cofferdam_core::limits::TimeSpan;
use serde::{Deserialize, Deserializer, de};
use std::collections::BTreeMap;
use std::fmt;

/// The longest that a one-time code may be good.
pub const PAIRING_EXPIRES_MAX: TimeSpan = TimeSpan::seconds(24 * 60 * 60);

/// Checks rules of groups; `section` is where they stand, `one` what the channel calls a group.
///
/// # Errors
/// [`UnusableKey`], which says what to write instead.
pub fn check_groups(
    section: &'static str,
    one: &str,
    (named, others): (&BTreeMap<i64, Group>, GroupMembers),
) -> Result<(), UnusableKey> {
    if others == GroupMembers::All {
        let said = format!(
            "other_{one}s = \"all\" would serve whoever adds the bot to a {one}; write \"allowed\" or \"none\", and name the {one} in [{section}.{one}s]"
        );
        return Err(UnusableKey::new(section, &format!("other_{one}s"), said));
    }
    let open = named.iter().find(|(_, group)| group.is_wide_open());
    let Some((id, _)) = open else { return Ok(()) };
    let said = format!(
        "{one}s.\"{id}\": members = \"all\" serves whoever writes there, so say which tools they get, by profile, e.g. profiles = [\"file-read-only\"]"
    );
    Err(UnusableKey::new(section, &format!("{one}s.{id}.members"), said))
}

/// Checks them together.
///
/// # Errors
/// [`UnusableKey`], which says what to write instead.
pub fn check_users(
    section: &'static str,
    (allowed, approvers): (&[i64], &[i64]),
    pairing_expires: TimeSpan,
) -> Result<(), UnusableKey> {
    if let Some(id) = allowed.iter().find(|id| **id <= 0) {
        let said = format!("allowed_users: {id} is not a user's id; people's ids are positive numbers");
        return Err(UnusableKey::new(section, "allowed_users", said));
    }
    // Shorter ones cannot be told in time, and longer ones can be guessed at.
    if !(TimeSpan::seconds(60)..=PAIRING_EXPIRES_MAX).contains(&pairing_expires) {
        let said =
            format!("pairing_expires = \"{pairing_expires}\" is not from 1m to 24h; write e.g. \"1h\"");
        return Err(UnusableKey::new(section, "pairing_expires", said));
    }
    let Some(id) = approvers.iter().find(|id| !allowed.contains(id)) else { return Ok(()) };
    let said = format!("approvers: {id} is not among allowed_users; add the id there, or remove it here");
    Err(UnusableKey::new(section, "approvers", said))
}

/// Reads `allowed_users`.
///
/// # Errors
/// What is no number.
pub fn allowed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<i64>, D::Error> {
    user_ids::<D, 0>(deserializer)
}

/// Reads `approvers`.
///
/// # Errors
/// What is no number.
pub fn approving<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<i64>, D::Error> {
    user_ids::<D, 1>(deserializer)
}

/// The keys that hold ids of users.
const OF_USERS: [&str; 2] = ["allowed_users", "approvers"];

fn user_ids<'de, D: Deserializer<'de>, const KEY: usize>(deserializer: D) -> Result<Vec<i64>, D::Error> {
    Ok(Vec::<UserId<KEY>>::deserialize(deserializer)?.into_iter().map(|id| id.0).collect())
}

/// A user's id in one of [`OF_USERS`]: a number. Names change hands, so they are refused with the
/// reason.
struct UserId<const KEY: usize>(i64);

impl<'de, const KEY: usize> Deserialize<'de> for UserId<KEY> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UserIdVisitor::<KEY>)
    }
}

struct UserIdVisitor<const KEY: usize>;

impl<const KEY: usize> de::Visitor<'_> for UserIdVisitor<KEY> {
    type Value = UserId<KEY>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a user's numeric id")
    }

    fn visit_i64<E>(self, id: i64) -> Result<UserId<KEY>, E> {
        Ok(UserId(id))
    }

    fn visit_u64<E: de::Error>(self, id: u64) -> Result<UserId<KEY>, E> {
        i64::try_from(id).map(UserId).map_err(|_| E::custom("a user's id is smaller than that"))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<UserId<KEY>, E> {
        let key = OF_USERS[KEY];
        let said = cofferdam_core::text::one_line(text, 80);
        Err(E::custom(match text.parse::<i64>() {
            Ok(id) => format!("{said:?} is text; write the number without quotes: {key} = [{id}]"),
            Err(_) => format!(
                "{said:?} is not a numeric id, and names can change hands; write e.g. {key} = [123456789] (the bot tells a stranger who writes to it his id)"
            ),
        }))
    }
}

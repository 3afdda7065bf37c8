//! What holds in a group that the operator names: a chat of several people, under any name of a
//! platform. Pure.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::{BTreeMap, BTreeSet};

/// What is due to the sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderReply {
    /// Somebody who is served.
    Serve(i64),
    /// Somebody else, to be told once.
    Tell(i64),
    /// No answer, with the reason for the log.
    Ignore(&'static str),
}

/// Who of a group is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupMembers {
    /// Those who are served anyway.
    #[default]
    Allowed,
    /// All who write there.
    All,
    /// Nobody.
    None,
}

/// What holds in a group.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Group {
    /// Who is served there.
    pub members: GroupMembers,
    /// Whether only mentions of the bot, replies to it and commands are answered; else everything
    /// is.
    pub mention_required: bool,
    /// The profiles whose tools may be called from there; absent: all of them.
    pub profiles: Option<BTreeSet<String>>,
}

/// What holds where nothing is said.
pub(crate) static USUAL: Group =
    Group { members: GroupMembers::Allowed, mention_required: true, profiles: None };
/// What holds where nobody is served.
static CLOSED: Group = Group { members: GroupMembers::None, mention_required: true, profiles: None };

impl Default for Group {
    fn default() -> Self {
        USUAL.clone()
    }
}

/// The groups that the configuration names, by id; and the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// By id.
    pub named: BTreeMap<i64, Group>,
    /// Who is served in groups that are not named.
    pub others: GroupMembers,
}

impl Groups {
    /// What holds in a group, by any of the ids that it has had.
    pub fn get(&self, ids: &[i64]) -> &Group {
        let named = ids.iter().find_map(|id| self.named.get(id));
        match (named, self.others) {
            (Some(group), _) => group,
            (None, GroupMembers::None) => &CLOSED,
            (None, GroupMembers::Allowed | GroupMembers::All) => &USUAL,
        }
    }

    /// Whether the bot is to answer more of a group than what mentions it or replies to it.
    pub fn listen_to_everything(&self) -> bool {
        self.named.values().any(|group| !group.mention_required && group.members != GroupMembers::None)
    }

    /// How many groups have something of their own, and whether the others are served; for the line
    /// at the start. `one` is what the platform calls a group.
    pub fn summarize(&self, one: &str) -> String {
        let named = match self.named.len() {
            0 => String::new(),
            1 => format!(", 1 {one} with rules of its own"),
            n => format!(", {n} {one}s with rules of their own"),
        };
        let others = match self.others {
            GroupMembers::None => format!(", no other {one} is served"),
            GroupMembers::Allowed | GroupMembers::All => String::new(),
        };
        named + &others
    }
}

/// Tables by the id of their group, which TOML has as text. `why` says what is wrong with a key
/// that is no id.
///
/// # Errors
/// What is no such table.
pub fn deserialize_by_id<'de, D: Deserializer<'de>>(
    deserializer: D,
    is_id: impl Fn(i64) -> bool,
    why: impl Fn(&str) -> String,
) -> Result<BTreeMap<i64, Group>, D::Error> {
    let written = BTreeMap::<String, Group>::deserialize(deserializer)?;
    let read = |(id, group): (String, Group)| {
        let number = id.trim().parse::<i64>().ok().filter(|id| is_id(*id));
        let number =
            number.ok_or_else(|| de::Error::custom(why(&cofferdam_core::text::one_line(&id, 80))))?;
        Ok((number, group))
    };
    written.into_iter().map(read).collect()
}

/// The same, as TOML has them.
///
/// # Errors
/// Those of the serializer.
pub fn serialize_by_id<S: Serializer>(
    groups: &BTreeMap<i64, Group>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(groups.iter().map(|(id, group)| (id.to_string(), group)))
}

impl Group {
    /// What holds where nothing is said.
    pub fn default_group() -> &'static Self {
        &USUAL
    }

    /// Whether all who write there get every tool, which no configuration may say.
    pub fn is_wide_open(&self) -> bool {
        self.members == GroupMembers::All && self.profiles.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_known_by_any_of_its_ids_and_the_others_are_usual_or_closed() {
        let open =
            Group { members: GroupMembers::All, mention_required: false, profiles: Some(BTreeSet::new()) };
        let mut groups =
            Groups { named: BTreeMap::from([(-5, open.clone())]), others: GroupMembers::Allowed };
        assert_eq!(groups.get(&[-5, -5]), &open);
        assert_eq!(groups.get(&[-100, -5]), &open);
        assert_eq!(groups.get(&[-7, -7]), &USUAL);
        groups.others = GroupMembers::None;
        assert_eq!(
            (groups.get(&[-7, -7]).members, groups.get(&[-5, -5]).members),
            (GroupMembers::None, GroupMembers::All)
        );
        assert_eq!(groups.summarize("group"), ", 1 group with rules of its own, no other group is served");
        assert_eq!(Groups::default().summarize("group"), "");
        assert!(groups.listen_to_everything() && !Groups::default().listen_to_everything());
    }
}

//! Who is served: those of the configuration, those whom a code has let in, and groups; each with
//! the command or the line of the configuration that takes them away.

use super::super::allow;
use super::finding::{DoctorFinding, look_as, shell};
use super::places::{is_own_folder, name_other_place};
use crate::config::{Config, SettingOrigin};
use cofferdam_chat::people::{Group as Rules, GroupMembers};
use cofferdam_core::text::one_line;
use cofferdam_store::machine_now_ms;
use cofferdam_store::people::{PairedPerson, People as File, PeopleError};
use serde::Serialize;
use std::os::unix::fs::MetadataExt;

#[derive(Serialize)]
pub(super) struct PeopleReport {
    allowed: Vec<AllowedPeople>,
    /// Groups with something of their own.
    groups: Vec<GroupReport>,
    /// Who is served in the others; none without such a channel.
    other_groups: Option<GroupMembers>,
    /// Guilds of Discord with something of their own.
    guilds: Vec<GroupReport>,
    /// Who is served in the others; none without such a channel.
    other_guilds: Option<GroupMembers>,
    /// Strangers whose code waits: `cofferdam allow` shows them.
    waiting: usize,
}

#[derive(Default, Serialize)]
struct AllowedPeople {
    channel: String,
    id: String,
    /// `file`, `environment`, or `paired` for those whom a code has let in.
    origin: &'static str,
    /// What they called themselves then.
    name: Option<String>,
    /// When they were let in; none for those of the configuration.
    since: Option<String>,
    /// By whom.
    by: Option<String>,
    /// What takes them away.
    remove: String,
}

#[derive(Serialize)]
struct GroupReport {
    id: String,
    #[serde(flatten)]
    rules: Rules,
    /// The line that serves nobody there.
    remove: String,
}

pub(super) fn look(config: &Config, findings: &mut Vec<DoctorFinding>) -> PeopleReport {
    let listed = File::new(&config.state_dir).load().unwrap_or_else(|error| {
        let what = format!("{error}; until then only people whom the configuration names are served");
        findings.push(DoctorFinding::problem("people", what, mend(config, &error)));
        Default::default()
    });
    let (now, telegram, discord) = (machine_now_ms(), config.telegram.as_ref(), config.discord.as_ref());
    let users = telegram.map(|telegram| (allow::TELEGRAM, &telegram.allowed_users, &telegram.approvers));
    let more = discord.map(|discord| (allow::DISCORD, &discord.allowed_users, &discord.approvers));
    let named = users.into_iter().chain(more).flat_map(|(channel, allowed, approvers)| {
        configured_people(config, channel, (allowed.as_slice(), approvers.as_slice()))
    });
    let group = |table: &'static str| {
        move |(id, rules): (&i64, &Rules)| {
            let remove = format!("[{table}.\"{id}\"] members = \"none\"");
            GroupReport { id: id.to_string(), rules: rules.clone(), remove }
        }
    };
    let groups = telegram.into_iter().flat_map(|telegram| &telegram.groups);
    let guilds = discord.into_iter().flat_map(|discord| &discord.guilds);
    PeopleReport {
        allowed: named.chain(listed.paired.iter().map(paired_person)).collect(),
        groups: groups.map(group("channels.telegram.groups")).collect(),
        other_groups: telegram.map(|telegram| telegram.other_groups),
        guilds: guilds.map(group("channels.discord.guilds")).collect(),
        other_guilds: discord.map(|discord| discord.other_guilds),
        waiting: listed.waiting.iter().filter(|one| one.is_good(now)).count(),
    }
}

fn mend(config: &Config, error: &PeopleError) -> String {
    let path = config.state_dir.join("people.json");
    let is_list = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    match error {
        _ if !is_own_folder(&config.state_dir) => name_other_place("state").to_owned(),
        // What is in it is sound, as far as this account can know.
        PeopleError::Io(..) | PeopleError::Busy(_) if is_list => as_owner(config),
        _ => {
            let file = shell(&path);
            format!("mv {file} {file}.damaged")
        }
    }
}

/// How to look as the account that the state belongs to.
fn as_owner(config: &Config) -> String {
    let owner = std::fs::metadata(&config.state_dir).map(|meta| meta.uid()).unwrap_or_default();
    look_as(config, owner)
}

/// Those whom the configuration names for a channel.
fn configured_people(
    config: &Config,
    channel: &'static str,
    (users, approvers): (&[i64], &[i64]),
) -> Vec<AllowedPeople> {
    let key = format!("channels.{channel}.allowed_users");
    let setting = config.settings.iter().find(|setting| setting.key == key);
    let in_environment = setting.is_some_and(|setting| setting.origin == SettingOrigin::Environment);
    let without =
        |user: i64, among: &[i64]| among.iter().copied().filter(|other| *other != user).collect::<Vec<i64>>();
    let allowed = |user: &i64| {
        let left = without(*user, users);
        let mut remove = match in_environment {
            true => {
                let left: Vec<String> = left.iter().map(ToString::to_string).collect();
                format!("COFFERDAM_CHANNELS_{}_ALLOWED_USERS={}", channel.to_uppercase(), left.join(","))
            }
            false => format!("[channels.{channel}] allowed_users = {left:?}"),
        };
        if approvers.contains(user) {
            remove.push_str(&format!(", and approvers = {:?}", without(*user, approvers)));
        }
        AllowedPeople {
            channel: channel.to_owned(),
            id: user.to_string(),
            origin: if in_environment { "environment" } else { "file" },
            remove,
            ..AllowedPeople::default()
        }
    };
    users.iter().map(allowed).collect()
}

fn paired_person(one: &PairedPerson) -> AllowedPeople {
    AllowedPeople {
        channel: one.channel.clone(),
        id: one.sender.clone(),
        origin: "paired",
        name: Some(one_line(&one.name, 80)),
        since: Some(allow::time(one.since)),
        by: Some(one_line(&one.by, 80)),
        remove: format!("cofferdam allow --remove {}", one.sender),
    }
}

impl PeopleReport {
    /// In words, a line each.
    pub(super) fn tell(&self, line: &mut impl FnMut(String)) {
        if self.allowed.is_empty() {
            line("served: nobody".to_owned());
        } else {
            line(
                "served, and what takes each away (a line of the configuration, from the next reload on):"
                    .into(),
            );
        }
        for AllowedPeople { channel, id, name, since, by, remove, origin } in &self.allowed {
            let whence = match (name, since, by) {
                (Some(name), Some(since), Some(by)) => format!("{name:?}, let in {since} by {by}"),
                _ => format!("of the configuration ({origin})"),
            };
            line(format!("  {channel}:{id} {whence}: {remove}"));
        }
        let groups = self.groups.iter().map(|group| ("group", group));
        let guilds = self.guilds.iter().map(|guild| ("guild", guild));
        for (one, GroupReport { id, rules, remove }) in groups.chain(guilds) {
            let members = match rules.members {
                GroupMembers::Allowed => "those who are served anyway",
                GroupMembers::All => "whoever writes there",
                GroupMembers::None => "nobody",
            };
            let tools = rules.profiles.as_ref().map_or_else(String::new, |profiles| {
                format!(", tools of {}", profiles.iter().cloned().collect::<Vec<_>>().join(" and "))
            });
            line(format!("  {one} {id}, {members}{tools}: {remove}"));
        }
        let other_groups = ("group", "[channels.telegram] other_groups", self.other_groups);
        let other_guilds = ("guild", "[channels.discord] other_guilds", self.other_guilds);
        for (one, key, members) in [other_groups, other_guilds] {
            if members.is_some_and(|members| members != GroupMembers::None) {
                line(format!("  any other {one}, those who are served anyway: {key} = \"none\""));
            }
        }
        if self.waiting > 0 {
            line(format!("  {} whose code waits: cofferdam allow", self.waiting));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;
    use std::collections::BTreeMap;
    use std::io::{Error, ErrorKind};

    #[test]
    fn a_list_that_this_account_cannot_read_is_not_moved_away() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("c.toml");
        std::fs::write(&file, "[workspace]\nroot = \"w\"\n[state]\ndir = \"s\"\n").expect("writable");
        let config = Config::load(Some(&file), &Flags::default(), &BTreeMap::new()).expect("valid");
        let error = PeopleError::Io("people.json".to_owned(), Error::from(ErrorKind::PermissionDenied));
        assert_eq!(mend(&config, &error), "[state] dir = a folder of its own", "there is none yet");
        std::fs::create_dir(dir.path().join("s")).expect("writable");
        let list = dir.path().join("s/people.json");
        std::fs::write(&list, "{}").expect("writable");
        let told = mend(&config, &error);
        assert!(told.starts_with("sudo -u '#") && told.contains(" cofferdam doctor --config "), "{told}");
        std::fs::remove_file(&list).expect("ours");
        std::os::unix::fs::symlink("elsewhere", &list).expect("writable");
        assert!(mend(&config, &error).starts_with("mv "));
    }
}

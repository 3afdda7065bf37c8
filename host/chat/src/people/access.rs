//! The door: who is served besides those whom the configuration names, what strangers are told, and
//! telling those whom the operator lets in while the bot runs.

use super::words;
use super::{Group, GroupMembers, Groups, PairedPeople, Served};
use crate::handler::{ChannelServices, CurrentChannel, PlatformChannel, hand_on, incoming};
use crate::session_queue::{Arrival, StopPower};
use crate::setup::PlatformNames;
use cofferdam_agent::turn::ConversationOwner;
use cofferdam_core::id::TurnId;
use cofferdam_core::limits::TimeSpan;
use cofferdam_core::lock::lock;
use cofferdam_store::people::{PairedPerson, PeopleList};
use cofferdam_store::{NewPart, NewReply, PartKind, STRANGER_TOLD_MAX, Stranger, machine_now_ms};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::sleep;

/// How often it is looked whether somebody was let in, to tell them so. Who is served is looked up
/// for each message.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Who was let in longer ago is not told any more: the store has forgotten whether they were.
const TOLD_AGE_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// What a configuration says of people.
#[derive(Clone, Debug, Default)]
pub struct ConfiguredPeople {
    /// Those who are served.
    pub users: BTreeSet<i64>,
    /// Those of them who may approve calls; empty: the person who asked for the call.
    pub approvers: Vec<i64>,
    /// How long a code is good; absent where strangers get none.
    pub pairing: Option<TimeSpan>,
    /// What holds in groups.
    pub groups: Arc<Groups>,
}

/// Who comes in.
#[derive(Clone, Debug)]
pub struct AccessControl {
    /// What the configuration says that this is of.
    named: Arc<ConfiguredPeople>,
    /// What the one says that is in force: the same for all that came from one another.
    in_force: Arc<Mutex<Arc<ConfiguredPeople>>>,
    guests: PairedPeople,
}

impl AccessControl {
    /// As a configuration has it.
    pub fn new(configured: ConfiguredPeople, guests: PairedPeople) -> Self {
        let named = Arc::new(configured);
        Self { in_force: Arc::new(Mutex::new(named.clone())), named, guests }
    }

    /// The same under another configuration, which is in force from now on.
    #[must_use]
    pub fn with_people(&self, configured: ConfiguredPeople) -> Self {
        let renewed = Self { in_force: self.in_force.clone(), ..Self::new(configured, self.guests.clone()) };
        *lock(&self.in_force) = renewed.named.clone();
        renewed
    }

    /// The same under the configuration that is in force, also where this is of one before: what
    /// runs keeps the one that it began with, but nothing is approved under that.
    #[must_use]
    pub fn in_force(&self) -> Self {
        Self { named: lock(&self.in_force).clone(), ..self.clone() }
    }

    /// What holds in groups.
    pub fn groups(&self) -> &Arc<Groups> {
        &self.named.groups
    }

    /// Who is served, where conversations are `whose`.
    pub fn rules(&self, whose: ConversationOwner) -> PeopleRules {
        let (allowed, are_all_known) = self.load_allowed();
        PeopleRules { allowed, are_all_known, groups: self.named.groups.clone(), whose }
    }

    /// Those whom the configuration names, and those whom the operator has let in since.
    pub fn allowed(&self) -> BTreeSet<i64> {
        self.load_allowed().0
    }

    /// The same, and whether these are all of them.
    fn load_allowed(&self) -> (BTreeSet<i64>, bool) {
        let paired = self.guests.load_paired();
        let mut allowed = self.named.users.clone();
        allowed.extend(paired.iter().flatten().filter_map(number));
        (allowed, paired.is_some())
    }

    /// Those of these people who are among them by the configuration that is in force, and so may
    /// decide; nobody where only `alone` sees the question and is none of them.
    pub fn approvers(&self, mut named: Vec<String>, alone: Option<&str>) -> Vec<String> {
        let allowed = self.in_force().allowed();
        named.retain(|person| person.parse().is_ok_and(|person| allowed.contains(&person)));
        if alone.is_some_and(|alone| !named.iter().any(|person| person == alone)) {
            named.clear();
        }
        named
    }

    /// Whether somebody is among them.
    pub fn served(&self, person: i64) -> Served {
        let (allowed, are_all_known) = self.load_allowed();
        Served::from_look(allowed.contains(&person), are_all_known)
    }

    /// How many were let in besides those whom the configuration names.
    pub fn let_in(&self) -> usize {
        let here = self.guests.load_paired().unwrap_or_default();
        here.iter().filter_map(number).filter(|id| !self.named.users.contains(id)).count()
    }

    /// What a stranger in private may be told, there. One who was told so often that nothing more
    /// is said gets no code either.
    pub async fn stranger(
        &self,
        base: &ChannelServices,
        platform: PlatformNames,
        (sender, called): (i64, &str),
        target: String,
    ) -> Stranger {
        let name = sender.to_string();
        let look = || base.store.count_told(&base.channel, &name);
        let times = base.store_until_done("look up a stranger", look).await;
        let lasts = self.named.pairing.filter(|_| times.is_some_and(|times| times < STRANGER_TOLD_MAX));
        let code = match lasts {
            Some(lasts) => self.guests.code(&name, called, lasts).await,
            None => None,
        };
        let body = match (code.as_ref(), times) {
            (Some(code), Some(1..)) => words::new_code(code),
            (code, _) => words::to_stranger(platform, sender, code),
        };
        let since = code.map_or(0, |code| code.issued_at);
        let reply = NewReply { target, parts: vec![NewPart { kind: PartKind::Text, body }] };
        Stranger { sender: name, since, reply }
    }
}

/// Who is served at one moment, and what they may do. Pure.
#[derive(Clone, Debug)]
pub struct PeopleRules {
    /// Those whom the configuration names, and those whom the operator has let in since.
    pub allowed: BTreeSet<i64>,
    /// Whether these are all: else the file of those who were let in cannot be read.
    pub are_all_known: bool,
    /// What holds in groups.
    pub groups: Arc<Groups>,
    /// Whose the conversations are.
    pub whose: ConversationOwner,
}

impl PeopleRules {
    /// Whether somebody is served where this holds.
    pub fn served(&self, person: i64, group: &Group) -> Served {
        match group.members {
            GroupMembers::Allowed => Served::from_look(self.allowed.contains(&person), self.are_all_known),
            GroupMembers::All => Served::Yes,
            GroupMembers::None => Served::No,
        }
    }

    /// What somebody may stop.
    pub fn stop_power(&self, sender: i64) -> StopPower {
        if self.allowed.contains(&sender) { StopPower::Served } else { StopPower::Member }
    }

    /// Whether somebody may have the conversation forgotten that they are heard in: their own, or
    /// one of all, where they are not merely a member of an open group.
    pub fn may_begin_anew(&self, sender: i64) -> bool {
        self.whose == ConversationOwner::Person || self.allowed.contains(&sender)
    }
}

fn number(one: &PairedPerson) -> Option<i64> {
    one.sender.parse().ok().filter(|id| *id > 0)
}

/// Tells people that they were let in, takes out old codes, and wakes those who wait for somebody
/// who was removed; until the bot stops.
pub async fn watch<C: PlatformChannel>(channels: CurrentChannel<C>, queues: mpsc::Sender<Arrival>) {
    let mut before: Arc<PeopleList> = Arc::default();
    loop {
        let channel = channels.borrow().clone();
        let base = channel.base();
        let guests = &base.door.guests;
        let listed = guests.load();
        if listed != before {
            base.approvals.look_again();
            for one in guests.load_paired().unwrap_or_default() {
                if greet(&*channel, &one, &queues).await.is_none() {
                    return;
                }
            }
            before = listed;
        }
        if before.waiting.iter().any(|one| !one.is_good(machine_now_ms())) {
            guests.forget_expired().await;
        }
        let Some(()) = base.stop.soon.run_until_cancelled(sleep(LOOK_EVERY)).await else { return };
    }
}

/// Tells somebody that they are served, once; `None` when the bot stops.
async fn greet<C: PlatformChannel>(
    channel: &C,
    one: &PairedPerson,
    queues: &mpsc::Sender<Arrival>,
) -> Option<()> {
    let Some(person) = number(one).filter(|_| one.since > machine_now_ms() - TOLD_AGE_MS) else {
        return Some(());
    };
    let base = channel.base();
    let turn = TurnId::new(format!("{}-allowed-{person}-{}", base.channel, one.since));
    let part = NewPart { kind: PartKind::Text, body: words::LET_IN.to_owned() };
    let reply = NewReply { target: C::private(person), parts: vec![part] };
    let tell = || base.store.tell(&base.channel, &turn, reply.clone());
    let told = base.store_until_done("tell somebody that they are served", tell).await?;
    hand_on(base, queues, told.map(|reply| incoming::reply(channel, reply))).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_store::people::People;

    fn people(users: &[i64], others: GroupMembers) -> ConfiguredPeople {
        let groups = Arc::new(Groups { others, ..Groups::default() });
        ConfiguredPeople { users: users.iter().copied().collect(), groups, ..ConfiguredPeople::default() }
    }

    #[test]
    fn what_began_before_keeps_its_configuration_and_finds_the_one_in_force() {
        let dir = tempfile::tempdir().expect("a folder");
        let guests = PairedPeople::new(People::new(dir.path()), "paper");
        let first = AccessControl::new(people(&[7, 8], GroupMembers::Allowed), guests);
        let began = first.clone();
        let second = first.with_people(people(&[8], GroupMembers::Allowed));
        assert_eq!((began.served(7), began.in_force().served(7)), (Served::Yes, Served::No));
        let third = second.with_people(people(&[8, 9], GroupMembers::None));
        for door in [&first, &began, &second, &third] {
            let rules = door.in_force().rules(ConversationOwner::Person);
            assert_eq!(rules.allowed, BTreeSet::from([8, 9]));
            let there = rules.served(8, rules.groups.get(&[-5]));
            assert_eq!(there, Served::No, "nobody is served in groups");
        }
        let rules = began.rules(ConversationOwner::Person);
        assert_eq!(rules.allowed, BTreeSet::from([7, 8]));
        assert_eq!(rules.served(7, rules.groups.get(&[-5])), Served::Yes);
    }

    #[test]
    fn nobody_is_taken_for_removed_while_the_list_of_people_cannot_be_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let guests = PairedPeople::new(People::new(dir.path()), "paper");
        let door = AccessControl::new(people(&[7], GroupMembers::Allowed), guests);
        let served = || {
            let rules = door.rules(ConversationOwner::Person);
            let at = |members, person| {
                let group = Group { members, ..Group::default_group().clone() };
                rules.served(person, &group)
            };
            let here = [7, 8].map(|person| (door.served(person), at(GroupMembers::Allowed, person)));
            (here, at(GroupMembers::All, 8), at(GroupMembers::None, 8), rules.allowed)
        };
        let known = |eight| {
            let here = [(Served::Yes, Served::Yes), (eight, eight)];
            (here, Served::Yes, Served::No, BTreeSet::from([7]))
        };
        assert_eq!(served(), known(Served::No), "there is no file");
        std::fs::write(dir.path().join("people.json"), "{\"paired\":").expect("writable");
        assert_eq!(served(), known(Served::Unknown));
        assert_eq!(door.let_in(), 0);
        std::fs::remove_file(dir.path().join("people.json")).expect("it is there");
        assert_eq!(served(), known(Served::No));
    }
}

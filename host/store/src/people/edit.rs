//! One change of the file, under its lock: made in memory, then written whole. Dropped before that,
//! nothing has changed.

use super::code::new_code;
use super::{CODES_MAX, PAIRED_MAX, PairedPerson, People, PeopleError, PeopleList, WaitingStranger};
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Write};

/// A change that is being made.
#[derive(Debug)]
pub struct PeopleEdit<'a> {
    people: &'a People,
    /// The lock lives as long as the file is open.
    _lock: File,
    listed: PeopleList,
}

/// Whom a code is for.
#[derive(Clone, Debug)]
pub struct NewCode {
    /// The channel.
    pub channel: String,
    /// The channel's immutable id of the person.
    pub sender: String,
    /// What they call themselves, bounded and on one line.
    pub name: String,
    /// From when it is good for nothing.
    pub expires_at: i64,
}

impl<'a> PeopleEdit<'a> {
    pub(super) fn new(people: &'a People, lock: File, listed: PeopleList) -> Self {
        Self { people, _lock: lock, listed }
    }

    /// Everybody as the change leaves it.
    pub fn list(&self) -> &PeopleList {
        &self.listed
    }

    /// The code of a person: the one that they have, or a new one. `None` when too many wait.
    ///
    /// # Errors
    /// [`PeopleError::NoRandom`].
    pub fn code(&mut self, new: NewCode, now: i64) -> Result<Option<WaitingStranger>, PeopleError> {
        self.forget_expired(now);
        let waiting = &mut self.listed.waiting;
        let mine =
            |waiting: &&WaitingStranger| (&waiting.channel, &waiting.sender) == (&new.channel, &new.sender);
        if let Some(mine) = waiting.iter().find(mine) {
            return Ok(Some(mine.clone()));
        }
        if waiting.len() >= CODES_MAX {
            return Ok(None);
        }
        let mut code = new_code()?;
        while waiting.iter().any(|waiting| waiting.code == code) {
            code = new_code()?;
        }
        let NewCode { channel, sender, name, expires_at } = new;
        let new = WaitingStranger { channel, sender, name, code, issued_at: now, expires_at };
        waiting.push(new.clone());
        Ok(Some(new))
    }

    /// Lets in the one who has this code, which is used up by it.
    ///
    /// # Errors
    /// [`PeopleError::UnknownCode`], [`PeopleError::TooMany`].
    pub fn accept(&mut self, code: &str, by: &str, now: i64) -> Result<PairedPerson, PeopleError> {
        self.forget_expired(now);
        let at = self.listed.waiting.iter().position(|waiting| waiting.code == code);
        let at = at.ok_or_else(|| PeopleError::UnknownCode(code.to_owned()))?;
        let WaitingStranger { channel, sender, name, .. } = self.listed.waiting.remove(at);
        let paired = PairedPerson { channel, sender, name, since: now, by: by.to_owned() };
        self.listed.paired.retain(|one| (&one.channel, &one.sender) != (&paired.channel, &paired.sender));
        if self.listed.paired.len() >= PAIRED_MAX {
            return Err(PeopleError::TooMany);
        }
        self.listed.paired.push(paired.clone());
        Ok(paired)
    }

    /// Takes out everybody of this id, on every channel; what they were.
    pub fn remove(&mut self, sender: &str) -> Vec<PairedPerson> {
        self.listed.paired.extract_if(.., |one| one.sender == sender).collect()
    }

    /// Takes out codes that are good for nothing; whether there were any.
    pub fn forget_expired(&mut self, now: i64) -> bool {
        let before = self.listed.waiting.len();
        self.listed.waiting.retain(|waiting| waiting.is_good(now));
        self.listed.waiting.len() < before
    }

    /// Makes the change durable. Then, and not before, it holds.
    ///
    /// # Errors
    /// [`PeopleError::Io`]; then everything is as it was.
    pub fn commit(self) -> Result<(), PeopleError> {
        let text = serde_json::to_vec_pretty(&self.listed).expect("plain data");
        self.write(&text).map_err(|cause| self.people.failed(cause))
    }

    fn write(&self, text: &[u8]) -> io::Result<()> {
        let (file, new) = (self.people.file(), self.people.file().with_extension("json.new"));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut written = File::from(rustix::fs::open(&new, flags, Mode::RUSR | Mode::WUSR)?);
        written.write_all(text)?;
        written.sync_all()?;
        std::fs::rename(&new, &file)?;
        File::open(&self.people.dir)?.sync_all()
    }
}

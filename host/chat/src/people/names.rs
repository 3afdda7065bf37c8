//! What people call themselves, shown beside their numbers where somebody reads who asked and who
//! decided. The newest that was seen, in memory alone; nothing is decided by it.

use cofferdam_core::lock::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// People whose names are kept; of more, all are forgotten, and each is known again with the next
/// message.
const NAMES_MAX: usize = 1000;

/// The names of people by their numbers. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct PeopleNames(Arc<Mutex<HashMap<i64, String>>>);

impl PeopleNames {
    /// Notes what somebody is called; `name` is on one line and bounded.
    pub fn insert(&self, person: i64, name: &str) {
        let mut names = lock(&self.0);
        if name.is_empty() || names.get(&person).is_some_and(|known| known == name) {
            return;
        }
        if names.len() >= NAMES_MAX && !names.contains_key(&person) {
            names.clear();
        }
        names.insert(person, name.to_owned());
    }

    /// What somebody is called, if that was seen.
    pub fn get(&self, person: &str) -> Option<String> {
        let person = person.parse().ok()?;
        lock(&self.0).get(&person).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_name_counts_and_not_too_many_are_kept() {
        let names = PeopleNames::default();
        for name in ["Ann", "Ann B", ""] {
            names.insert(7, name);
        }
        assert_eq!((names.get("7").as_deref(), names.get("8"), names.get("x")), (Some("Ann B"), None, None));
        for person in 0..3000 {
            names.insert(person, "x");
            assert!(names.0.lock().expect("held shortly").len() <= NAMES_MAX);
        }
        assert_eq!(names.get("2999").as_deref(), Some("x"));
    }
}

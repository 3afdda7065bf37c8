//! Components that are asked what they are: each in a process that was asked of no other, since what took that over
//! could lie about those that come after it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use support::home::{Home, Ran, builtin_tools};
use support::needs;

/// Forgets what the tools said of themselves; returns the SHA-256 of each component whose code is there.
fn unasked(home: &Home) -> BTreeSet<String> {
    let mut components = BTreeSet::new();
    for entry in fs::read_dir(home.state().join("cache")).expect("warmed").flatten() {
        let name = entry.file_name().into_string().expect("text");
        let (component, _) = name.split_once('-').expect("component and engine or grants");
        components.insert(component.to_owned());
        if name.ends_with(".said") {
            fs::remove_file(entry.path()).expect("ours");
        }
    }
    components
}

#[test]
fn no_process_is_asked_of_two_components() {
    let test = "sandbox::described::no_process_is_asked_of_two_components";
    if !needs::available(test, "root and strace", needs::root() && needs::program("strace")) {
        return;
    }
    let home = Home::new();
    let (components, log) = (unasked(&home), home.dir().join("strace"));
    let file = log.to_str().expect("text");
    let strace = ["strace", "-f", "-y", "-s", "200", "-e", "trace=sendmsg", "-o", file];
    let ran = Ran::from(home.command_under(&strace, &["tools"]).output().expect("strace starts"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    // By the socket of a worker: the components that it was told of.
    let mut told: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for line in fs::read_to_string(&log).expect("a log").lines() {
        let Some((_, sent)) = line.split_once("sendmsg(") else { continue };
        let socket = sent.split(['<', '>']).nth(1).expect("its name").to_owned();
        let component = components.iter().find(|component| sent.contains(component.as_str()));
        told.entry(socket).or_default().extend(component.map(String::as_str));
    }
    let asked: Vec<_> = told.values().filter(|components| !components.is_empty()).collect();
    assert!(asked.iter().all(|components| components.len() == 1), "{told:?}");
    assert_eq!(asked.len(), builtin_tools().len(), "{told:?}");
    // What they said is known now, so none is asked again.
    let again = Ran::from(home.command_under(&strace, &["tools"]).output().expect("strace starts"));
    assert_eq!(again, ran);
    let log = fs::read_to_string(&log).expect("a log");
    assert!(components.iter().all(|component| !log.contains(component)), "{log}");
}

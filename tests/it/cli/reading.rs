//! Commands that read make nothing: run as root before the first start, one of them would leave
//! folders that the bot's account cannot write.

use support::guests;
use support::home::Home;

#[test]
fn commands_that_read_make_nothing_in_state_and_workspace() {
    let policy = "safety = \"read-only\"\n[arguments]\nname = \"value\"";
    let home = Home::new().tool("hello", "file-read-only", "minimal", policy);
    std::fs::remove_dir_all(home.state()).expect("warmed");
    let file = guests::path("minimal");
    let file = file.to_str().expect("text");
    for (words, code) in [
        (&["tools"][..], 0),
        (&["tools", "--json"], 0),
        (&["policy", "check"], 0),
        (&["policy", "check", "policies"], 0),
        (&["policy", "show"], 0),
        (&["policy", "explain", "file_read", "path=/shared/a"], 0),
        (&["policy", "explain", "hello", "name=Ada"], 0),
        (&["policy", "diff", "policies", "policies"], 0),
        (&["policy", "report"], 0),
        (&["tool", "inspect", file], 0),
        (&["tool", "inspect", file, "--policy", "policies"], 0),
        (&["tool", "run", file, "name=Ada"], 0),
        (&["audit", "show"], 2),
        (&["audit", "verify"], 2),
        (&["allow"], 0),
        (&["status"], 3),
        (&["reload"], 3),
        (&["doctor", "--offline"], 0),
        (&["service", "print"], 0),
    ] {
        let ran = home.run(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}");
        assert!(!home.state().exists() && !home.workspace().exists(), "{words:?} makes folders");
    }
}

//! `policy report`: one page that shows hostile words as words, the same each time, problems at the
//! top.

use super::help::compare;
use support::guests;
use support::home::{Home, Ran};

/// One tool of an outside author, whose policy's words try to become markup.
fn fixture() -> Home {
    let home = Home::new().own_policies();
    for folder in ["tools", "profiles"] {
        for file in std::fs::read_dir(home.policies_dir().join(folder)).expect("there") {
            std::fs::remove_file(file.expect("readable").path()).expect("ours");
        }
    }
    let profile = "schema = 1\nprofile = \"p\"\nwhy = \"a | b `c` \\n# d\"\n\
                   mounts = [\n  { guest = \"/shared\", access = \"read-only\" },\n]\ninterfaces = [\"turn-attachments\"]\n";
    let bytes = guests::bytes("minimal");
    let tool = format!(
        "schema = 1\ntool = \"hello\"\nprofile = \"p\"\ncomponent = {{ file = \"hello.wasm\", sha256 = \"{}\" }}\n\
         safety = \"read-only\"\nwhy = \"<script>alert(1)</script> ![x](http://evil.example) \\u202E\"\n\
         [arguments]\nname = \"value\"\n[limits]\nmemory = \"4 MiB\"\n",
        guests::sha256(&bytes)
    );
    std::fs::write(home.policies_dir().join("tools/hello.wasm"), bytes).expect("writable");
    home.policy("profiles/p.toml", profile).policy("tools/hello.toml", &tool)
}

fn report(home: &Home, words: &[&str]) -> Ran {
    home.run(&[&["policy", "report"], words].concat())
}

/// The page without what changes with the compiler that built the guest.
fn stable(home: &Home, page: &str) -> String {
    let bytes = std::fs::read(home.policies_dir().join("tools/hello.wasm")).expect("there");
    let mut page = page.replace(&guests::sha256(&bytes), "COMPONENT-SHA256");
    page = page.replace(&format!("{} bytes", bytes.len()), "SIZE bytes");
    let show = home.run(&["policy", "show", "--json"]).json();
    for (hash, name) in
        [(&show["policies_sha256"], "POLICIES-SHA256"), (&show["tools"][0]["policy_sha256"], "POLICY-SHA256")]
    {
        assert!(page.contains(hash.as_str().expect("text")), "{name}");
        page = page.replace(hash.as_str().expect("text"), name);
    }
    page
}

#[test]
fn no_word_of_a_policy_becomes_markup() {
    let home = fixture();
    let html = report(&home, &[]);
    assert_eq!((html.code, html.stderr.as_str()), (Some(0), ""), "{html:?}");
    for markup in ["<script", "<img", "http:", "https:", "src=", "href=", "url(", "\u{202e}", "@import"] {
        let found = html.stdout.replace("http://evil.example", "").contains(markup);
        assert!(!found, "{markup} in {}", html.stdout);
    }
    assert!(html.stdout.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    compare("policy-report.html", &stable(&home, &html.stdout));
    let markdown = report(&home, &["--format", "markdown"]);
    assert_eq!(markdown.code, Some(0), "{markdown:?}");
    for markup in ["<script", "![", "](", "://", "a | b `c`", "\n# d", "\u{202e}"] {
        assert!(!markdown.stdout.contains(markup), "{markup} in {}", markdown.stdout);
    }
    compare("policy-report.md", &stable(&home, &markdown.stdout));
}

#[test]
fn no_word_of_a_tool_becomes_markup() {
    let policy = "safety = \"read-only\"\n";
    let home = Home::new().tool("loud_summary", "file-read-only", "examples/loud_summary", policy);
    let html = report(&home, &["policies"]);
    assert!(html.stdout.contains("&lt;script src=//evil.example&gt;&lt;/script&gt; | `x`"), "{html:?}");
    assert_eq!(html.stdout.matches("</table>").count(), html.stdout.matches("<table>").count());
    let markdown = report(&home, &["policies", "--format", "markdown"]);
    let summary = markdown.stdout.lines().find(|line| line.contains("evil.example")).expect("shown");
    assert_eq!(
        summary,
        r"**It says of itself:** &lt;script src=//evil.example&gt;&lt;/script&gt; \| \`x\` \!\[y\]\(//evil.example\) &lt;/td&gt;&lt;/table&gt;"
    );
    assert_eq!((html.code, markdown.code), (Some(0), Some(0)));
}

#[test]
fn the_same_policies_give_the_same_page() {
    let home = fixture();
    let page = report(&home, &["--format", "markdown"]).stdout;
    let file = home.dir().join("page.md");
    let ran = report(&home, &["policies", "--format", "markdown", "-o", file.to_str().expect("text")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&file).expect("written"), page);
    assert!(!page.contains(home.dir().to_str().expect("text")), "it names no place on the machine");
    assert!(!home.workspace().exists() && home.audit().is_empty());
    super::refused(&report(&home, &["-o", "missing/page.html"]), &["cannot write missing/page.html"]);
    super::refused(&report(&home, &["--format", "pdf"]), &["html, markdown"]);
}

#[test]
fn the_imports_that_need_a_grant_are_named() {
    let home = Home::new();
    let page = report(&home, &["--format", "markdown"]).stdout;
    let imports: Vec<_> = page.lines().filter(|row| row.starts_with("| imports beyond")).collect();
    let tools = support::home::builtin_policies();
    assert_eq!(imports.len(), tools.len(), "{page}");
    let of = |name: &str| imports[tools.iter().position(|tool| tool == name).expect("a tool")];
    let save = "cofferdam:tool/turn-attachments\\@0.1.0, cofferdam:tool/workspace-write\\@0.1.0";
    assert!(of("attachment_save").contains(save), "{imports:?}");
    assert!(of("file_read").contains("| none |"), "{imports:?}");
}

#[test]
fn what_a_component_wants_and_does_not_get_is_shown_too() {
    let policy = "imports = \"strict\"\nsafety = \"read-only\"\n[arguments]\nbehaviour = \"value\"\npath = { path = \"read\" }\nbytes = \"value\"\n";
    let home = Home::new().tool("hostile", "file-read-only", "hostile", policy);
    let ran = report(&home, &["policies", "--format", "markdown"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let (_, section) = ran.stdout.split_once("## hostile\n").expect("its section");
    let imports = section.lines().find(|row| row.starts_with("| imports beyond")).expect("a row");
    assert!(imports.contains("cofferdam:tool/workspace-write"), "{imports}");
}

#[test]
fn problems_stand_at_the_top() {
    let home = fixture();
    std::fs::write(home.policies_dir().join("tools/hello.wasm"), "other").expect("writable");
    for format in ["html", "markdown"] {
        let ran = report(&home, &["--format", format]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let problem = ran.stdout.find("hello.wasm has sha256").expect("told");
        assert!(problem < ran.stdout.find("What it is").expect("the tool is there all the same"), "{ran:?}");
        assert!(ran.stdout.contains("unknown: it cannot be read as pinned"), "{ran:?}");
    }
    std::fs::write(home.policies_dir().join("tools/hello.toml"), "schema = \"<b>\"").expect("writable");
    for format in ["html", "markdown"] {
        let ran = report(&home, &["--format", format]);
        assert_eq!((ran.code, ran.stdout.contains("<b>")), (Some(3), false), "{ran:?}");
        assert!(ran.stdout.contains("Problems: 1") && ran.stdout.contains("hello.toml:1: "), "{ran:?}");
    }
}

#[test]
fn programs_get_the_same_tables() {
    let home = fixture();
    let ran = report(&home, &["--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = ran.json();
    assert_eq!((&page["tools"][0]["name"], &page["problems"]), (&"hello".into(), &serde_json::json!([])));
    let rows: Vec<_> = page["tools"][0]["tables"].as_array().expect("tables").iter().collect();
    let mount = serde_json::json!(["mount /shared", "read-only", "profiles/p.toml:5"]);
    assert!(rows.iter().any(|table| table["rows"].as_array().is_some_and(|r| r.contains(&mount))), "{page}");
    assert_eq!(report(&home, &["--json", "--format", "html"]).code, Some(2));
}

//! The files of a new tool in another language than Rust, as text. Pure: nothing is written here.

use super::template::contract;
use crate::gateway::candidate::NOTHING;

/// What a new tool is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Language {
    Rust,
    Python,
    Js,
    C,
}

/// The sources of each language, and how they are built.
const PYTHON: &[(&str, &str)] = &[
    ("app.py", include_str!("template/python/app.py")),
    ("build.sh", include_str!("template/python/build.sh")),
    (".gitignore", "/venv\n__pycache__\n/*.wasm\n"),
];
const JS: &[(&str, &str)] = &[
    ("tool.js", include_str!("template/js/tool.js")),
    ("build.mjs", include_str!("template/js/build.mjs")),
    ("build.sh", include_str!("template/js/build.sh")),
    ("package.json", include_str!("template/js/package.json")),
    (".gitignore", "/node_modules\n/*.wasm\n"),
];
const C: &[(&str, &str)] = &[
    ("tool.c", include_str!("template/c/tool.c")),
    ("build.sh", include_str!("template/c/build.sh")),
    (".gitignore", "/venv\n/mine.*\n/mine_component_type.o\n/*.wasm\n"),
];
/// What all of them have.
const SHARED: &[(&str, &str)] = &[
    ("README.md", include_str!("template/other.md")),
    ("wit/mine.wit", include_str!("template/mine.wit")),
    ("policies/profiles/nothing.toml", NOTHING),
    ("policies/tools/{{name}}.toml", include_str!("template/tool.toml")),
    ("cases/greets.json", include_str!("template/greets_once.json")),
    ("cases/refuses_nobody.json", include_str!("template/refuses_nobody.json")),
];

/// Every file of the tool `name`: (path, text). None for Rust, whose tools are crates.
pub(super) fn files(name: &str, language: Language) -> Vec<(String, String)> {
    let (sources, shown) = match language {
        Language::Rust => return Vec::new(),
        Language::Python => (PYTHON, "Python"),
        Language::Js => (JS, "JavaScript"),
        Language::C => (C, "C"),
    };
    let fill = |text: &str| text.replace("{{name}}", name).replace("{{language}}", shown);
    let own = sources.iter().chain(SHARED).map(|(path, text)| (fill(path), fill(text)));
    own.chain(contract().map(|(path, text)| (format!("wit/{path}"), text.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_sources_the_contract_and_a_policy_that_grants_nothing() {
        for (language, source) in
            [(Language::Python, "app.py"), (Language::Js, "tool.js"), (Language::C, "tool.c")]
        {
            let files = files("hello", language);
            for wanted in [source, "build.sh", "wit/tool.wit", "wit/mine.wit", "policies/tools/hello.toml"] {
                assert!(files.iter().any(|(path, _)| path == wanted), "{language:?} has no {wanted}");
            }
            // Of a component that is named, no policy is taken that is not.
            let tests = "\ncofferdam tool test hello.wasm --policy policies\n";
            assert!(files.iter().any(|(path, text)| path == "README.md" && text.contains(tests)));
            for (path, text) in &files {
                assert!(
                    !path.contains("{{") && !text.contains("{{name") && !text.contains("{{lang"),
                    "{path}"
                );
            }
        }
        assert_eq!(files("hello", Language::Rust), []);
    }
}

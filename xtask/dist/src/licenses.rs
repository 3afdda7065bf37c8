//! The licences of everything that the shipped programs are made of: a table, and each text once.

use crate::packages::{Package, Packages};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How the files begin that packages keep their licences in.
const NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// What a static program holds beside packages.
const BESIDE: &str = "\
Beside the packages below, the program holds Rust's standard library (MIT OR Apache-2.0) and the C library musl \
(MIT, its text is the first one), both as rustup installs them, and SQLite, which is in the public domain. A package without a text of its own is \
under one of the texts of others.\n";

/// Table and texts, for people who pass the program on.
pub(crate) fn of(packages: &Packages) -> Result<String> {
    // By text: most packages share theirs with others.
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut texts = vec![include_str!("musl-license.txt").to_owned()];
    let mut table = String::new();
    for package in packages.values().filter(|package| package.sha256.is_some() && !package.build_only) {
        let mut told = Vec::new();
        for file in files(package)? {
            let text = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let text = String::from_utf8_lossy(&text).replace("\r\n", "\n");
            let number = *numbers.entry(text.trim().to_owned()).or_insert_with(|| {
                texts.push(text.trim().to_owned());
                texts.len()
            });
            told.push(format!("[{number}]"));
        }
        told.dedup();
        let told = if told.is_empty() { without_text(package) } else { told.join(" ") };
        let license = package.license.as_deref().unwrap_or("see its text");
        writeln!(table, "{} {}: {license}: {told}", package.name, package.version)?;
    }
    let mut whole = format!("Licences of what Cofferdam is made of\n\n{BESIDE}\n{table}");
    for (index, text) in texts.iter().enumerate() {
        write!(whole, "\n{:=<80}\n[{}]\n\n{}\n", "", index + 1, text.trim())?;
    }
    Ok(whole)
}

/// Some packages name a licence and bring no text.
fn without_text(package: &Package) -> String {
    let authors = if package.authors.is_empty() { "unnamed".to_owned() } else { package.authors.join(", ") };
    format!("its package has no text; authors: {authors}")
}

fn files(package: &Package) -> Result<Vec<PathBuf>> {
    let is_license = |file: &Path| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        file.is_file() && NAMES.iter().any(|begin| name.starts_with(begin))
    };
    let entries = std::fs::read_dir(&package.dir)
        .with_context(|| format!("the sources of {} are not there", package.name))?;
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|file| is_license(file)).collect();
    files.extend(package.license_file.clone());
    files.sort();
    files.dedup();
    Ok(files)
}

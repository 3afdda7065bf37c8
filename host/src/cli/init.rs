//! `cofferdam init`: writes a commented configuration, and never over an existing file. On a
//! terminal it asks what it must, and tries token and key before anything is written; elsewhere it
//! asks nothing.

mod asking;
mod template;
mod terminal;

use super::Exit;
use crate::config::{Config, Flags};
use anyhow::{Context, bail};
use asking::{InitAnswers, Platform};
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "On a terminal it asks for the token of a Telegram and of a Discord bot, who is served, who answers and \
                  where files lie; a token or key goes into a file of its own beside the configuration, which only you \
                  can read.\nExample: cofferdam init ~/.config/cofferdam/cofferdam.toml"
)]
pub(super) struct Arguments {
    /// Where to write it [default: --config, else ./cofferdam.toml]
    file: Option<PathBuf>,
    /// Asks nothing and writes the defaults, as where there is no terminal
    #[arg(long, short)]
    yes: bool,
    /// A channel that it has, or asks about; repeat for both [default: telegram; on a terminal it
    /// asks about both]
    #[arg(long, value_name = "CHANNEL")]
    channel: Vec<Platform>,
}

impl Arguments {
    /// The platforms that are named, each once; these where none is.
    fn platforms(&self, otherwise: &[Platform]) -> Vec<Platform> {
        let named = if self.channel.is_empty() { otherwise } else { &self.channel };
        Platform::ALL.into_iter().filter(|platform| named.contains(platform)).collect()
    }
}

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> anyhow::Result<Exit> {
    let default = Path::new(crate::config::FILE_NAME);
    let file = arguments.file.as_deref().or(config).unwrap_or(default);
    if !arguments.yes && std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return ask_and_write(file, &arguments.platforms(&Platform::ALL));
    }
    let named = arguments.platforms(&[Platform::Telegram]);
    let sections: Vec<_> = named.iter().map(|platform| platform.names().section).collect();
    create(file, &template::fill_template(&[], &sections)?)?;
    writeln!(super::stdout(), "wrote {}; only you can read it", file.display())?;
    let variables: String =
        named.iter().map(|platform| format!("{}=… ", platform.names().variable)).collect();
    let knows_somebody = false;
    next(file, &variables, knows_somebody)?;
    Ok(Exit::Done)
}

/// What to run next. Nobody need know their numeric id: where the configuration names nobody who is
/// served, the bot tells it, with a code.
fn next(file: &Path, variables: &str, knows_somebody: bool) -> std::io::Result<()> {
    let file = super::doctor::shell(file);
    let mut out = super::stdout();
    writeln!(out, "Next:")?;
    writeln!(out, "    {variables}cofferdam doctor --config {file}")?;
    writeln!(out, "    {variables}cofferdam serve --config {file}")?;
    if !knows_somebody {
        writeln!(out, "Then write to the bot: it answers with a code, and this lets you in:")?;
        writeln!(out, "    cofferdam allow CODE --config {file}")?;
    }
    Ok(())
}

/// Makes a file that only its owner can read, and the folders that it needs, which are its owner's
/// as well.
fn create(file: &Path, text: &str) -> anyhow::Result<()> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut folders = std::fs::DirBuilder::new();
    let made = folders.recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("cannot create {}: there is no folder for it", file.display()))?;
    super::new_file::write_new(file, 0o600, text).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists_error(file),
        _ => anyhow::Error::new(error).context(format!("cannot create {}", file.display())),
    })
}

fn exists_error(file: &Path) -> anyhow::Error {
    let shown = file.display();
    anyhow::anyhow!(
        "cannot create {shown}: it exists, and nothing is overwritten; name another file, or move that one away"
    )
}

fn ask_and_write(file: &Path, platforms: &[Platform]) -> anyhow::Result<Exit> {
    let token_file = |platform: Platform| file.with_extension(platform.file_suffix());
    let [telegram, discord] = Platform::ALL.map(token_file);
    let key_file = file.with_extension("api-key");
    for taken in [file, &telegram, &discord, &key_file] {
        // Before a person types for nothing.
        if taken.symlink_metadata().is_ok() {
            return Err(exists_error(taken));
        }
    }
    // Those that are missing are made with the file.
    let there = file.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok());
    if let Some(folder) = there.filter(|folder| !folder.is_dir()) {
        bail!("cannot create {}: {} is not a folder", file.display(), folder.display());
    }
    let environment = super::environment()?;
    let answers = InitAnswers::ask(&environment, platforms)?;
    let mut secrets: Vec<(PathBuf, &str)> = Vec::new();
    for bot in answers.bots() {
        secrets.extend(bot.token.as_ref().map(|token| (token_file(bot.platform), token.reveal())));
    }
    secrets.extend(answers.typed_key().map(|key| (key_file.clone(), key.reveal())));
    let name = |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let settings = answers.settings(|platform| name(&token_file(platform)), &name(&key_file));
    let sections: Vec<_> = answers.bots().map(|bot| bot.platform.names().section).collect();
    let text = template::fill_template(&settings, &sections)?;
    let mut written = Vec::new();
    for (path, content) in secrets.into_iter().chain([(file.to_owned(), &*text)]) {
        if let Err(error) = create(&path, content) {
            // A secret that no configuration names would only lie about.
            written.iter().for_each(|path: &PathBuf| drop(std::fs::remove_file(path)));
            return Err(error);
        }
        written.push(path);
    }
    tell(file, &written, &answers)?;
    Config::load(Some(file), &Flags::default(), &environment)
        .context("what was written is not accepted; mend it there")?;
    Ok(Exit::Done)
}

fn tell(file: &Path, written: &[PathBuf], answers: &InitAnswers) -> anyhow::Result<()> {
    let names: Vec<_> = written.iter().rev().map(|path| path.display().to_string()).collect();
    let them = if names.len() > 1 { "them" } else { "it" };
    let mut out = super::stdout();
    writeln!(out, "\nwrote {}; only you can read {them}", names.join(", "))?;
    Ok(next(file, &answers.variables(), answers.knows_somebody())?)
}

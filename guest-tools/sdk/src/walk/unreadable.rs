//! What a walk could not read: told with the answer, a few by name and the rest by number, never
//! fatal.

use std::borrow::Cow;
use std::io;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ELOOP;
use crate::text;

/// How many are told by name; all are counted.
const TOLD_MAX: usize = 20;

/// What could not be read on the way.
#[derive(Clone, Debug, Default)]
pub struct Unreadable {
    told: Vec<Told>,
    count: usize,
}

/// One of them as a result shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Told {
    /// Where it is. Control and invisible characters are written as \u{…}.
    pub path: String,
    /// Why it could not be read.
    pub reason: Cow<'static, str>,
}

/// Why something could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// So many names in a folder are not UTF-8: no tool can name them.
    NotUtf8(usize),
    /// A name with control or invisible characters: no tool can name it.
    Deceptive,
    /// The folder lies deeper than a walk goes.
    TooDeep,
    /// It was removed or replaced meanwhile.
    Vanished,
    /// The system does not let the gateway read it.
    Permission,
    /// It leads out of the mount or to another filesystem.
    Outside,
    /// It is longer than what is read of one file.
    TooLong,
    /// One line of it, with those before it that are shown, is longer than what is held of one
    /// file.
    LongLine,
    /// The system reported something else.
    Failed,
}

impl Problem {
    /// What an error on the way comes down to.
    pub fn of(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::NotFound | Kind::NotADirectory | Kind::IsADirectory | Kind::Unsupported => Self::Vanished,
            Kind::PermissionDenied => Self::Permission,
            Kind::CrossesDevices => Self::Outside,
            // A link took the place of what was found.
            _ if error.raw_os_error() == Some(ELOOP) => Self::Vanished,
            _ => Self::Failed,
        }
    }

    fn reason(self) -> Cow<'static, str> {
        match self {
            Self::NotUtf8(1) => "1 name here is not UTF-8 and cannot be shown or opened; rename it".into(),
            Self::NotUtf8(n) => {
                format!("{n} names here are not UTF-8 and cannot be shown or opened; rename them").into()
            }
            Self::Deceptive => "the name has control or invisible characters; rename it".into(),
            Self::TooDeep => "the folder lies too deep; name it as the path to look into it".into(),
            Self::Vanished => "it was removed or replaced meanwhile".into(),
            Self::Permission => "it may not be read, or is on another filesystem".into(),
            Self::Outside => "it is on another filesystem".into(),
            Self::TooLong => "the file is too long; only its beginning was read".into(),
            Self::LongLine => "a line is too long to be searched; the file was searched up to it".into(),
            Self::Failed => "the system reported an error".into(),
        }
    }
}

impl Unreadable {
    /// Remembers one more, by its path below the walk's folder.
    pub fn add(&mut self, path: &str, problem: Problem) {
        self.count += match problem {
            Problem::NotUtf8(n) => n,
            _ => 1,
        };
        if self.told.len() < TOLD_MAX {
            self.told.push(Told { path: text::shown(path).into_owned(), reason: problem.reason() });
        }
    }

    /// The first of them, with the path of the walk's folder before theirs, and how many there are
    /// in all.
    pub fn into_told(self, folder: &str) -> (Vec<Told>, usize) {
        let told = self.told.into_iter().map(|told| Told { path: join(folder, &told.path), ..told });
        (told.collect(), self.count)
    }
}

fn join(base: &str, path: &str) -> String {
    match (base, path) {
        ("", path) => path.to_owned(),
        (base, "") => base.to_owned(),
        (base, path) => format!("{base}/{path}"),
    }
}

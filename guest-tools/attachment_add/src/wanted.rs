//! From arguments that overlap to one list of files. It refuses what could be meant in two ways.

use crate::composed::{Content, bad, composed};
use crate::{Arguments, Overrides, Paths};
use cofferdam_sdk::ToolError;
use cofferdam_sdk::reply::{ReplyFile, Source};

/// The files in order. Names and types belong to the paths by position.
pub(crate) fn wanted(arguments: Arguments) -> Result<Vec<ReplyFile>, ToolError> {
    if let Some(content) = Content::of(arguments.content, arguments.content_base64)? {
        if arguments.path.is_some() || arguments.paths.is_some() {
            return Err(bad(
                "a path and a content are both given; send files of the workspace and a file that the call brings in \
                 a call for each",
            ));
        }
        let name = overrides("filename", arguments.filename, arguments.filenames, 1)?.remove(0);
        let mime_type = overrides("mimeType", arguments.mime_type, arguments.mime_types, 1)?.remove(0);
        return Ok(vec![composed(content, name, mime_type)?]);
    }
    let paths = match (arguments.paths, arguments.path) {
        (Some(Paths::Many(paths)), _) => paths,
        (Some(Paths::One(path)), _) | (None, Some(path)) => vec![path],
        (None, None) => Vec::new(),
    };
    if paths.is_empty() {
        return Err(bad(
            "no file is named; give \"path\", \"paths\" with at least one, or \"content\" with a \"filename\"",
        ));
    }
    let names = overrides("filename", arguments.filename, arguments.filenames, paths.len())?;
    let types = overrides("mimeType", arguments.mime_type, arguments.mime_types, paths.len())?;
    let files = paths.into_iter().zip(names).zip(types);
    let file = |((path, name), mime_type)| ReplyFile { source: Source::Path(path), name, mime_type };
    Ok(files.map(file).collect())
}

/// One place for each of `count` paths. The list is preferred to the single one, as with the paths.
fn overrides(
    argument: &str,
    one: Option<String>,
    many: Option<Overrides>,
    count: usize,
) -> Result<Vec<Option<String>>, ToolError> {
    let mut given = match (many, one) {
        (Some(Overrides::Many(list)), _) => list,
        (Some(Overrides::One(text)), _) => vec![Some(text)],
        (None, Some(text)) if count == 1 => vec![Some(text)],
        (None, Some(_)) => {
            let said = format!(
                "\"{argument}\" is for one file and there are {count}; give \"{argument}s\" with one for each"
            );
            return Err(bad(said));
        }
        (None, None) => Vec::new(),
    };
    if given.len() > count {
        let said = format!(
            "\"{argument}s\" has more entries ({}) than there are files ({count}); give one for each",
            given.len()
        );
        return Err(bad(said));
    }
    given.resize(count, None);
    Ok(given)
}

#[cfg(test)]
mod tests;

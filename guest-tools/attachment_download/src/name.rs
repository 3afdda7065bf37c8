//! The extension of a file: from its media type, else from the sender's name for it, else from the
//! path of its address, else none. A sender's words never become more of a name than ten plain
//! characters.

/// What a media type is that says nothing.
pub(crate) const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Longer extensions are none.
const EXTENSION_BYTES_MAX: usize = 10;

/// The extension that most programs know a type by.
const COMMON: &[(&str, &str)] = &[
    ("application/epub+zip", "epub"),
    ("application/gzip", "gz"),
    ("application/json", "json"),
    ("application/java-archive", "jar"),
    ("application/msword", "doc"),
    ("application/ogg", "ogg"),
    ("application/pdf", "pdf"),
    ("application/postscript", "ps"),
    ("application/rtf", "rtf"),
    ("application/vnd.android.package-archive", "apk"),
    ("application/vnd.ms-excel", "xls"),
    ("application/vnd.ms-powerpoint", "ppt"),
    ("application/vnd.oasis.opendocument.presentation", "odp"),
    ("application/vnd.oasis.opendocument.spreadsheet", "ods"),
    ("application/vnd.oasis.opendocument.text", "odt"),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    ("application/vnd.rar", "rar"),
    ("application/vnd.sqlite3", "sqlite"),
    ("application/wasm", "wasm"),
    ("application/x-7z-compressed", "7z"),
    ("application/x-bzip2", "bz2"),
    ("application/x-tar", "tar"),
    ("application/x-tgsticker", "tgs"),
    ("application/x-xz", "xz"),
    ("application/xml", "xml"),
    ("application/yaml", "yaml"),
    ("application/zip", "zip"),
    ("application/zstd", "zst"),
    ("audio/aac", "aac"),
    ("audio/amr", "amr"),
    ("audio/flac", "flac"),
    ("audio/midi", "mid"),
    ("audio/mp4", "m4a"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/wav", "wav"),
    ("audio/webm", "weba"),
    ("audio/x-matroska", "mka"),
    ("font/otf", "otf"),
    ("font/ttf", "ttf"),
    ("font/woff", "woff"),
    ("font/woff2", "woff2"),
    ("image/avif", "avif"),
    ("image/bmp", "bmp"),
    ("image/gif", "gif"),
    ("image/heic", "heic"),
    ("image/heif", "heif"),
    ("image/jpeg", "jpg"),
    ("image/jxl", "jxl"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/tiff", "tiff"),
    ("image/vnd.microsoft.icon", "ico"),
    ("image/webp", "webp"),
    ("image/x-icon", "ico"),
    ("text/calendar", "ics"),
    ("text/css", "css"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/javascript", "js"),
    ("text/markdown", "md"),
    ("text/plain", "txt"),
    ("text/rtf", "rtf"),
    ("text/vcard", "vcf"),
    ("text/xml", "xml"),
    ("video/3gpp", "3gp"),
    ("video/mp4", "mp4"),
    ("video/mpeg", "mpg"),
    ("video/quicktime", "mov"),
    ("video/webm", "webm"),
    ("video/x-flv", "flv"),
    ("video/x-matroska", "mkv"),
    ("video/x-msvideo", "avi"),
];

/// The extension without its dot, in lower case.
pub(crate) fn extension(mime_type: &str, name: Option<&str>, source_url: &str) -> Option<String> {
    // A type may carry parameters: `text/plain; charset=utf-8`.
    let essence = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let common =
        COMMON.iter().find(|(mime, _)| *mime == essence).map(|(_, extension)| (*extension).to_owned());
    common.or_else(|| of_name(name?)).or_else(|| of_name(last_segment(source_url)?))
}

/// What follows the last dot of a name, if something precedes it and it is plain.
fn of_name(name: &str) -> Option<String> {
    let name = name.rsplit(['/', '\\']).next()?.trim_end();
    let (stem, extension) = name.rsplit_once('.')?;
    let plain = (1..=EXTENSION_BYTES_MAX).contains(&extension.len())
        && extension.bytes().all(|b| b.is_ascii_alphanumeric());
    (plain && !stem.is_empty()).then(|| extension.to_ascii_lowercase())
}

/// The last segment of an address's path; the host is no part of it.
fn last_segment(url: &str) -> Option<&str> {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let path = match url[..end].split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => url[..end].split_once(':')?.1,
    };
    path.rsplit('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mime: &str, name: Option<&str>, url: &str, expected: Option<&str>) {
        assert_eq!(extension(mime, name, url).as_deref(), expected, "{mime} {name:?} {url}");
    }

    #[test]
    fn the_type_decides_then_the_name_then_the_address() {
        let url = "https://cdn.example/a/b.gif?x=1.jpg#c.png";
        check("image/jpeg", Some("x.png"), url, Some("jpg"));
        check("Text/Plain; charset=utf-8", Some("notes.md"), url, Some("txt"));
        check(UNKNOWN_TYPE, Some("X.PNG"), url, Some("png"));
        check("chemical/x-pdb", Some("a.pdb"), url, Some("pdb"));
        check("", None, url, Some("gif"));
        check(UNKNOWN_TYPE, Some("noextension"), url, Some("gif"));
        check(UNKNOWN_TYPE, None, "https://cdn.example/a/b", None);
        check(UNKNOWN_TYPE, None, "https://cdn.example", None);
        check(UNKNOWN_TYPE, None, "https://cdn.example/?a.jpg", None);
        check(UNKNOWN_TYPE, None, "telegram:file/AgADx", None);
        check(UNKNOWN_TYPE, None, "file:a.tar.gz", Some("gz"));
        check(UNKNOWN_TYPE, None, "", None);
    }

    #[test]
    fn a_senders_name_brings_nothing_but_a_plain_extension() {
        for name in [
            "a.",
            ".bashrc",
            "",
            ".",
            "..",
            "a.b c",
            "a.é",
            "a.abcdefghijk",
            "a.x/y",
            "a.\u{202E}gpj",
            "a.a-b",
            "x.$(id)",
        ] {
            check(UNKNOWN_TYPE, Some(name), "", None);
        }
        check(UNKNOWN_TYPE, Some("a.tar.GZ"), "", Some("gz"));
        check(UNKNOWN_TYPE, Some("../../a.sh"), "", Some("sh"));
        check(UNKNOWN_TYPE, Some("a.b/c.txt "), "", Some("txt"));
        check(UNKNOWN_TYPE, Some("a.0123456789"), "", Some("0123456789"));
    }

    #[test]
    fn the_table_holds_only_what_a_name_may_end_with() {
        for (mime, extension) in COMMON {
            assert_eq!(of_name(&format!("a.{extension}")).as_deref(), Some(*extension), "{mime}");
            assert_eq!(*mime, mime.to_ascii_lowercase());
        }
    }
}

//! The rules as the design says them, written again without a look at the code: slow, obvious, and
//! the judge of the fast path.

/// Whether a text is a guest path.
pub(crate) fn is_guest_path(text: &str) -> bool {
    if text.len() > 4096 || !text.starts_with('/') {
        return false;
    }
    for c in text.chars() {
        let code = c as u32;
        let control = code < 0x20 || (0x7F..=0x9F).contains(&code);
        let bidi = [0x061C, 0x200E, 0x200F].contains(&code)
            || (0x202A..=0x202E).contains(&code)
            || (0x2066..=0x2069).contains(&code);
        let separator = code == 0x2028 || code == 0x2029;
        let invisible = (0x200B..=0x200D).contains(&code)
            || (0x2060..=0x2065).contains(&code)
            || (0x206A..=0x206F).contains(&code)
            || code == 0xFEFF
            || (0xFFF0..=0xFFFB).contains(&code)
            || (0xE0000..=0xE0FFF).contains(&code)
            || (0xFE00..=0xFE0F).contains(&code);
        let blank = [0xAD, 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0].contains(&code)
            || (0x180B..=0x180F).contains(&code)
            || (0x1BCA0..=0x1BCA3).contains(&code)
            || (0x1D173..=0x1D17A).contains(&code);
        if control || bidi || separator || invisible || blank {
            return false;
        }
    }
    text.split('/').skip(1).all(|name| {
        !name.is_empty()
            && name != "."
            && name != ".."
            && name.len() <= 255
            && !name.starts_with(".cofferdam-")
    })
}

/// The components of a guest path, the mount first.
pub(crate) fn components(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty()).collect()
}

/// Whether `path` lies below the directory `dir`, both guest paths.
pub(crate) fn is_below(path: &str, dir: &str) -> bool {
    let (path, dir) = (components(path), components(dir));
    path.len() > dir.len() && path[..dir.len()] == dir[..]
}

/// What stands for `text` where `~` is `/shared`.
pub(crate) fn completed(text: &str) -> String {
    let mut names = text.split('/');
    if names.next() == Some("~") { format!("/shared{}", &text[1..]) } else { text.to_owned() }
}

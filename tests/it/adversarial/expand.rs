//! What `${…}` in a table's text stands for.

/// The text with every `${NAME}` as `meaning` says, and every `${ab*3}` as `ababab`.
///
/// # Panics
/// When one is neither.
pub(super) fn expand(text: &str, meaning: &dyn Fn(&str) -> Option<String>) -> String {
    let repeated = |name: &str| {
        let (part, count) = name.rsplit_once('*')?;
        Some(part.repeat(count.parse().ok()?))
    };
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, inner)) = rest.split_once("${") {
        expanded.push_str(before);
        // Braces may be repeated as well: the first end that makes sense is the end.
        let ends = inner.match_indices('}').map(|(at, _)| (&inner[..at], at));
        let meant =
            ends.filter_map(|(name, at)| Some((meaning(name).or_else(|| repeated(name))?, at))).next();
        let (meant, end) = meant.unwrap_or_else(|| panic!("${{{inner:.80} stands for nothing here"));
        expanded.push_str(&meant);
        rest = &inner[end + 1..];
    }
    expanded + rest
}

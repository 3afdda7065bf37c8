//! The error that a stub returns, made of nothing but its type.

use wasmtime::component::Val;
use wasmtime::component::types::Type;

/// Types within each other that are followed.
const DEPTH_MAX: usize = 8;
/// Cases that say that something may not be, the plainest first; a case fits if its name has one of
/// these words in it.
const WORDS: [&str; 9] = [
    "path-denied",
    "denied",
    "not-permitted",
    "permission",
    "forbidden",
    "unsupported",
    "not-supported",
    "unavailable",
    "other",
];

/// An error of this type, if it is a result that has one which can be made: a text is `said`.
pub(super) fn refusal(result: &Type, said: &str) -> Option<Val> {
    let Type::Result(result) = result else { return None };
    Some(Val::Result(Err(payload(result.err(), said, 0)?)))
}

/// What a case or an error holds, where it holds anything.
fn payload(ty: Option<Type>, said: &str, depth: usize) -> Option<Option<Box<Val>>> {
    match ty {
        None => Some(None),
        Some(ty) => Some(Some(Box::new(value(&ty, said, depth)?))),
    }
}

/// Some value of a type; none where only the host could make one.
fn value(ty: &Type, said: &str, depth: usize) -> Option<Val> {
    if depth > DEPTH_MAX {
        return None;
    }
    let inner = |ty: &Type| value(ty, said, depth + 1);
    Some(match ty {
        Type::Bool => Val::Bool(false),
        Type::S8 => Val::S8(0),
        Type::U8 => Val::U8(0),
        Type::S16 => Val::S16(0),
        Type::U16 => Val::U16(0),
        Type::S32 => Val::S32(0),
        Type::U32 => Val::U32(0),
        Type::S64 => Val::S64(0),
        Type::U64 => Val::U64(0),
        Type::Float32 => Val::Float32(0.0),
        Type::Float64 => Val::Float64(0.0),
        Type::Char => Val::Char('?'),
        Type::String => Val::String(said.to_owned()),
        Type::List(_) => Val::List(Vec::new()),
        Type::Option(_) => Val::Option(None),
        Type::Flags(_) => Val::Flags(Vec::new()),
        Type::Enum(all) => Val::Enum(find_case(all.names())?),
        Type::Record(record) => {
            let field = |field: wasmtime::component::types::Field<'_>| {
                Some((field.name.to_owned(), inner(&field.ty)?))
            };
            Val::Record(record.fields().map(field).collect::<Option<_>>()?)
        }
        Type::Tuple(tuple) => Val::Tuple(tuple.types().map(|ty| inner(&ty)).collect::<Option<_>>()?),
        Type::Variant(variant) => {
            let possible = variant
                .cases()
                .filter_map(|case| Some((case.name.to_owned(), payload(case.ty, said, depth + 1)?)));
            let possible: Vec<_> = possible.collect();
            let name = find_case(possible.iter().map(|(name, _)| name.as_str()))?;
            let (name, payload) = possible.into_iter().find(|(case, _)| *case == name)?;
            Val::Variant(name, payload)
        }
        Type::Result(result) => Val::Result(Err(payload(result.err(), said, depth + 1)?)),
        _ => return None,
    })
}

/// The case that says most plainly that something may not be, or the last.
fn find_case<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<&str> = names.collect();
    let fits = |word: &&str| names.iter().find(|name| name.contains(*word));
    WORDS.iter().find_map(fits).or(names.last()).map(|name| (*name).to_owned())
}

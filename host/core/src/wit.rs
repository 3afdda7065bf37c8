//! Functions of any component as tools: the shapes of their parameters and results, JSON Schema of
//! these, and values between JSON and the component.
//!
//! Names are in kebab case in a component and in snake case in JSON. What JSON cannot hold
//! (handles, streams, an option of an option) has no shape.

mod from_json;
#[cfg(test)]
mod properties;
mod schema;
#[cfg(test)]
mod tests;
mod to_json;

/// The parameters and the result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionShape {
    /// Names and shapes, in order.
    pub parameters: Vec<(String, Shape)>,
    /// What it returns, if anything.
    pub result: Option<Shape>,
}

/// The shape of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Integer(Width),
    /// A number of 32 bits; neither NaN nor infinite.
    Float32,
    /// A number of 64 bits; neither NaN nor infinite.
    Float64,
    /// One code point.
    Char,
    /// A text.
    String,
    /// `list<u8>`: base64 in JSON.
    Bytes,
    /// A list of one shape.
    List(Box<Shape>),
    /// Named fields.
    Record(Vec<(String, Shape)>),
    /// Fields by their order.
    Tuple(Vec<Shape>),
    /// One of these cases, some with a payload: `{"case": payload}`.
    Variant(Vec<(String, Option<Shape>)>),
    /// One of these names.
    Enum(Vec<String>),
    /// Absent or null, or this.
    Option(Box<Shape>),
    /// A variant with the cases `ok` and `err`; of a function, success or failure.
    Result(Option<Box<Shape>>, Option<Box<Shape>>),
    /// Some of these names.
    Flags(Vec<String>),
}

/// The width of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are called what they are")]
pub enum Width {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
}

/// A value of a [`Shape`]: fields in the shape's order, cases and flags by their index.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "they are called what their shapes are")]
pub enum Datum {
    Bool(bool),
    Integer(i128),
    Float32(f32),
    Float64(f64),
    Char(char),
    String(String),
    Bytes(Vec<u8>),
    List(Vec<Datum>),
    Record(Vec<Datum>),
    Tuple(Vec<Datum>),
    Variant(usize, Option<Box<Datum>>),
    Enum(usize),
    Option(Option<Box<Datum>>),
    Result(Result<Option<Box<Datum>>, Option<Box<Datum>>>),
    Flags(Vec<usize>),
}

/// Beyond this, a whole number is written as a decimal string: readers of JSON count in doubles.
const EXACT_MAX: i128 = 1 << 53;

impl Width {
    /// The smallest and the largest number.
    pub const fn range(self) -> (i128, i128) {
        match self {
            Self::S8 => (i8::MIN as i128, i8::MAX as i128),
            Self::U8 => (0, u8::MAX as i128),
            Self::S16 => (i16::MIN as i128, i16::MAX as i128),
            Self::U16 => (0, u16::MAX as i128),
            Self::S32 => (i32::MIN as i128, i32::MAX as i128),
            Self::U32 => (0, u32::MAX as i128),
            Self::S64 => (i64::MIN as i128, i64::MAX as i128),
            Self::U64 => (0, u64::MAX as i128),
        }
    }

    /// Whether there are numbers that a double cannot hold.
    const fn is_wide(self) -> bool {
        matches!(self, Self::S64 | Self::U64)
    }
}

/// A name as JSON has it.
pub fn snake(name: &str) -> String {
    name.replace('-', "_")
}

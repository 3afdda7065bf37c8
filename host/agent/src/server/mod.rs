//! A server outside, for the code that speaks to one: which addresses may be contacted, how long to
//! pause before the next attempt, the time by its clock, and the file of the secret that it asks
//! for.

mod address;
mod backoff;
mod http;
mod secret_file;
mod unusable_key;

pub use address::{Address, ServerScope};
pub use backoff::Backoff;
pub(crate) use http::read_beginning;
pub use http::{client, http_date, read_whole};
pub use secret_file::{
    MissingSecret, SECRET_BYTES_MAX, check_key, is_one_word, is_variable_name, read_secret,
};
pub use unusable_key::UnusableKey;

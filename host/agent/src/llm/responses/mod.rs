//! OpenAI's Responses: `POST {base_url}/responses`. Nothing is stored there: each request holds the
//! whole conversation as items.

mod events;
mod request;
#[cfg(test)]
mod tests;

pub(super) use events::hear;
pub(super) use request::body;

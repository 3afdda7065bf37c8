//! The Telegram channel from end to end: the real program against a Bot API server on loopback that
//! misbehaves as told.
//!
//! Each test ends with [`world::World::end`], which holds what is true of every run: one reply a
//! turn, a sound audit, nothing left behind, and the bot's token nowhere but in the URLs of its
//! server.

mod about;
mod absence;
mod agent;
mod albums;
mod approvals;
mod attachments_out;
mod backlog;
mod beside;
mod bucket;
mod chaos;
mod cluster;
mod commands;
mod cut_off;
mod disk;
mod downloads;
mod edits;
mod flood;
mod groups;
mod kill;
mod kill_attaching;
mod kill_inside;
mod kinds;
pub(crate) mod limits;
mod listing;
mod logs;
mod manager;
mod markdown;
pub(crate) mod metrics;
mod moving;
mod odd;
mod outage;
mod pairing;
mod people;
mod places;
mod polling;
mod postgres;
mod progress;
mod queue;
mod recent;
mod refusals;
mod reload;
mod replies;
mod save;
mod say;
mod secrets;
mod sending;
mod signing;
mod silence;
mod stop;
mod streaming;
mod stuck;
mod tracer;
mod typing;
mod updates;
mod voice;
mod world;

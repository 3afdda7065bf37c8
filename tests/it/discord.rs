//! The Discord channel from end to end: the real program against Discord on loopback (REST,
//! gateway, CDN) that misbehaves as told.
//!
//! Each test ends with [`world::World::end`], which holds what is true of every run: a sound audit,
//! no mention of anybody, a nonce on every message, and the bot's token nowhere but in requests to
//! its server.

mod approvals;
mod beside;
mod commands;
mod downloads;
mod files;
mod gateway;
mod guilds;
mod injection;
mod kill;
mod limits;
mod logs;
mod nodes;
mod people;
mod progress;
mod rates;
mod refusals;
mod reload;
mod replies;
mod say;
mod schedule;
mod vertical;
mod voice;
mod world;

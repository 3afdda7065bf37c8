//! The one integration-test binary: each module is a concern, each test enters where a user enters.

mod adversarial;
mod architecture;
mod authors;
mod cli;
mod conformance;
mod discord;
mod files;
mod foreign;
mod isolation;
mod llm;
mod mcp;
mod network;
mod sandbox;
mod soak;
mod store;
mod telegram;
mod unrelated;
mod vault;
mod workflow;

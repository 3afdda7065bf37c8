//! What only PostgreSQL has: a server of its own that goes and comes back, and one who serves.

use super::*;
use cofferdam_core::secret::Secret;
use cofferdam_postgres::{PostgresServer, new_schema, shared};

/// A schema of the server that the tests share.
pub(super) struct Postgres {
    location: StoreLocation,
}

pub(super) fn location(server: &PostgresServer, schema: &str) -> StoreLocation {
    let config = PostgresConfig::new(&Secret::new(server.url()), schema, b"").expect("sound");
    StoreLocation::Postgres(Box::new(config))
}

impl Engine for Postgres {
    fn new() -> Self {
        let server = shared("cofferdam-store").expect("it is there");
        Self { location: location(server, &new_schema()) }
    }

    fn open(&self) -> Store {
        Store::open(&self.location).expect("a store")
    }

    fn is_there(test: &str) -> bool {
        shared(test).is_some()
    }
}

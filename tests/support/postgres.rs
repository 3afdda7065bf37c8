//! A gateway whose store is in a real PostgreSQL.

use crate::home::Home;
pub use cofferdam_postgres::{PostgresServer, new_schema, shared};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

/// The password in every URL. The server asks for none, and nobody may show it.
pub const PASSWORD: &str = "open-sesame-5741";

impl Home {
    /// With its store in this schema; the URL is in a file of the gateway's folder.
    ///
    /// # Panics
    /// When the file cannot be written.
    #[must_use]
    pub fn postgres(self, server: &PostgresServer, schema: &str) -> Self {
        self.postgres_at(&format!("{} password={PASSWORD}", server.url()), schema)
    }

    /// The same with this URL.
    ///
    /// # Panics
    /// When the file cannot be written.
    #[must_use]
    pub fn postgres_at(self, url: &str, schema: &str) -> Self {
        let mut options = std::fs::File::options();
        let file =
            options.create(true).write(true).truncate(true).mode(0o600).open(self.dir().join("store-url"));
        file.and_then(|mut file| file.write_all(url.as_bytes())).expect("writable");
        self.config(&format!(
            "[store]\nengine = \"postgres\"\nurl_file = \"store-url\"\nschema = {schema:?}\n"
        ))
    }
}

//! A bare client of the Bot API.

use std::ops::{Deref, DerefMut};

use serde_json::{Value, json};

use crate::exchange::client::{self, Reply, multipart};
use crate::telegram::TelegramServer;

/// A connection that is kept alive, and the token.
pub(super) struct Client {
    bare: client::Client,
    token: String,
}

impl Deref for Client {
    type Target = client::Client;

    fn deref(&self) -> &client::Client {
        &self.bare
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut client::Client {
        &mut self.bare
    }
}

/// What the Bot API's answers say.
pub(super) trait BotApi {
    /// The result of what was done.
    fn result(&self) -> Value;

    /// The description of a refusal whose code equals the HTTP status.
    fn refusal(&self) -> (u16, String);
}

impl BotApi for Reply {
    fn result(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()["result"].clone()
    }

    fn refusal(&self) -> (u16, String) {
        let json = self.json();
        assert_eq!(json["ok"], json!(false));
        assert_eq!(json["error_code"], json!(self.status));
        (self.status, json["description"].as_str().unwrap().to_owned())
    }
}

impl Client {
    pub(super) async fn new(server: &TelegramServer) -> Self {
        Self { bare: client::Client::new(&server.api_url()).await, token: server.token().to_owned() }
    }

    /// Sends a method with a JSON body.
    pub(super) async fn post(&mut self, method: &str, params: Value) {
        let body = params.to_string();
        let request = format!(
            "POST /bot{}/{method} HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.send(&request).await;
    }

    /// Calls a method with fields of text and files (field, name, bytes), and reads the answer.
    pub(super) async fn upload(
        &mut self,
        method: &str,
        params: &[(&str, &str)],
        files: &[(&str, &str, &[u8])],
    ) -> Reply {
        let body = multipart(params, files);
        let head = format!(
            "POST /bot{}/{method} HTTP/1.1\r\nHost: t\r\nContent-Type: multipart/form-data; boundary=b0undary\r\n\
             Content-Length: {}\r\n\r\n",
            self.token,
            body.len()
        );
        self.send_bytes(&[head.into_bytes(), body].concat()).await;
        self.reply().await.unwrap()
    }

    /// Calls a method and reads the answer.
    pub(super) async fn call(&mut self, method: &str, params: Value) -> Reply {
        self.post(method, params).await;
        self.reply().await.unwrap()
    }

    /// Asks for a file by its `file_path`, which is sent as it is.
    pub(super) async fn get_file(&mut self, path: &str) {
        let request = format!("GET /file/bot{}/{path} HTTP/1.1\r\nHost: t\r\n\r\n", self.token);
        self.send(&request).await;
    }
}

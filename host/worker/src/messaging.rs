//! `messaging` as guests call it: each function is one request to the gateway, which alone reaches
//! people.

use crate::bindings::cofferdam::tool::messaging as wit;
use crate::gateway::{expect_done, expect_reply};
use crate::state::{Answered, StoreState};
use cofferdam_core::host_call::Request;
use cofferdam_core::message::{DirectMessage, SentMessage};

impl From<SentMessage> for wit::SentMessage {
    fn from(SentMessage { channel, channel_id, message_id }: SentMessage) -> Self {
        Self { channel, channel_id, message_id }
    }
}

impl wit::Host for StoreState {
    fn send(&mut self, message: wit::Message, workflow: Option<String>) -> Answered<wit::SentMessage> {
        let wit::Message { to, text, files } = message;
        let request = Request::Send(DirectMessage { to, text, files, workflow });
        self.answer(self.gateway.ask(request, expect_reply!(Sent)))
    }

    fn begin_workflow(&mut self, summary: Option<String>) -> Answered<String> {
        self.answer(self.gateway.ask(Request::BeginWorkflow(summary), expect_reply!(Begun)))
    }

    fn wait_for_reply(&mut self, workflow: String, message: String, timeout_ms: Option<u64>) -> Answered<()> {
        let request = Request::WaitForReply { workflow, message, timeout_ms };
        self.answer(self.gateway.ask(request, expect_done))
    }
}

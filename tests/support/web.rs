//! The network of a trusted core that has none.

use cofferdam_core::web::{
    FailureKind, HttpAnswer, HttpFailure, HttpRequest, RequestFate, RequestRecord, Terms, Web, Witness,
};

/// Sends nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoWeb;

impl Web for NoWeb {
    fn send(
        &self,
        request: HttpRequest,
        _: Vec<u8>,
        _: &Terms,
        witness: Witness<'_>,
    ) -> Result<HttpAnswer, HttpFailure> {
        let failure = HttpFailure::new(FailureKind::Denied, "there is no network here");
        let asked = RequestRecord { method: request.method, host: String::new(), path: String::new() };
        witness(&asked, RequestFate::Failed(failure.clone()))?;
        Err(failure)
    }
}

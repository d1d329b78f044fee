//! Why a request is refused: a status, a code for programs and a sentence for people that says what to do, sent as a
//! problem (RFC 9457).

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use schemars::JsonSchema;
use scrollback::Error;
use serde::Serialize;
use serde_json::json;

use crate::proxy::RETRY_SECONDS;

/// A request that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) header: Option<(HeaderName, HeaderValue)>,
}

/// A refusal as it is sent.
#[derive(Serialize, JsonSchema)]
pub(super) struct Problem<'a> {
    r#type: &'a str,
    /// What the status means.
    title: &'a str,
    status: u16,
    /// What to do.
    detail: &'a str,
    /// The same for programs.
    code: &'a str,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), header: None }
    }

    /// The same with a header that says more.
    #[must_use]
    pub(crate) fn with(self, name: HeaderName, value: impl TryInto<HeaderValue>) -> Self {
        Self { header: value.try_into().ok().map(|value| (name, value)), ..self }
    }

    /// What was given cannot be used.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// The thing named does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// As it is sent.
    pub(crate) fn response(&self) -> Response<Body> {
        let title = self.status.canonical_reason().unwrap_or("Refused");
        let (status, detail, code) = (self.status.as_u16(), &*self.message, self.code);
        let problem = json!(Problem { r#type: "about:blank", title, status, detail, code });
        let mut response = Response::new(Body::from(problem.to_string()));
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response.headers_mut().extend(self.header.clone());
        response
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let (status, code) = match &error {
            Error::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
            Error::Invalid(_) => (StatusCode::BAD_REQUEST, "invalid"),
            Error::TooLarge(_) => (StatusCode::UNPROCESSABLE_ENTITY, "too_large"),
            Error::InUse { .. } | Error::Conflict(_) => (StatusCode::CONFLICT, "conflict"),
            Error::Model { .. } | Error::Unreachable(_) => (StatusCode::BAD_GATEWAY, "model"),
            Error::Damaged(_) => (StatusCode::INTERNAL_SERVER_ERROR, "damaged"),
            Error::Store { .. } => (StatusCode::SERVICE_UNAVAILABLE, "store"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "store"),
        };
        if status.is_server_error() {
            tracing::error!("a request to the API failed: {error}");
        }
        let refusal = Self::new(status, code, error.to_string());
        let may_pass = status == StatusCode::SERVICE_UNAVAILABLE;
        if may_pass { refusal.with(header::RETRY_AFTER, RETRY_SECONDS) } else { refusal }
    }
}

impl From<serde_json::Error> for Refusal {
    fn from(error: serde_json::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "unwritable", format!("the answer cannot be written: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_store_could_not_do_now_may_be_asked_again() {
        let away = Refusal::from(Error::Store { what: "the database is away".into(), source: None }).response();
        assert_eq!((away.status().as_u16(), away.headers().get("retry-after").is_some()), (503, true));
        let damaged = Refusal::from(Error::Damaged("a message".into())).response();
        assert_eq!((damaged.status().as_u16(), damaged.headers().get("retry-after").is_some()), (500, false));
    }
}

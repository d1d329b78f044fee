//! Keys: who may ask, whichever of the two headers says so. Clients of OpenAI send `Authorization`, those of Anthropic either
//! that or `x-api-key`; everything that looks at keys does it here.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::wire::WireName;

/// The other header that keys travel in.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// A key of ours for an upstream.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    header: HeaderName,
    value: HeaderValue,
}

impl Key {
    /// A key, as an API takes it; `None` if no header can hold it.
    pub(crate) fn new(key: &str, wire: WireName) -> Option<Self> {
        let (header, text) = match wire {
            WireName::Anthropic => (API_KEY, key.to_owned()),
            WireName::Chat | WireName::Responses => (header::AUTHORIZATION, format!("Bearer {key}")),
        };
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(Self { header, value })
    }

    /// Puts it in the place of whatever key a client sent.
    pub(crate) fn replace(&self, headers: &mut HeaderMap) {
        headers.remove(header::AUTHORIZATION);
        headers.remove(API_KEY);
        headers.insert(self.header.clone(), self.value.clone());
    }
}

/// Why a request's keys cannot be trusted: more than one, and not the same.
pub(crate) fn quarrel(headers: &HeaderMap) -> Option<&'static str> {
    let several = |name| headers.get_all(name).iter().count() > 1;
    if several(header::AUTHORIZATION) || several(API_KEY) {
        return Some("a request has one key; this one repeats the header of its key");
    }
    let bearer = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    let bearer = bearer.map(|value| value.strip_prefix(b"Bearer ").unwrap_or(value));
    let other = headers.get(API_KEY).map(HeaderValue::as_bytes);
    let differ = matches!((bearer, other), (Some(bearer), Some(other)) if bearer != other);
    differ.then_some("Authorization and x-api-key hold different keys; send one of them")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn one_key_is_one_key_in_either_header() {
        assert_eq!(quarrel(&headers(&[])), None);
        assert_eq!(quarrel(&headers(&[("authorization", "Bearer a"), ("x-api-key", "a")])), None);
        assert!(quarrel(&headers(&[("authorization", "Bearer a"), ("x-api-key", "b")])).is_some());
        assert!(quarrel(&headers(&[("authorization", "Bearer a"), ("authorization", "Bearer a")])).is_some());
        assert!(quarrel(&headers(&[("x-api-key", "a"), ("x-api-key", "b")])).is_some());
    }

    #[test]
    fn our_key_replaces_the_clients_in_either_header() {
        for wire in [WireName::Chat, WireName::Responses, WireName::Anthropic] {
            for theirs in ["authorization", "x-api-key"] {
                let mut sent = headers(&[(theirs, "Bearer theirs"), ("x-other", "stays")]);
                Key::new("ours", wire).unwrap().replace(&mut sent);
                let told: Vec<String> = sent.values().map(|value| value.to_str().unwrap().to_owned()).collect();
                assert!(!told.iter().any(|value| value.contains("theirs")), "{told:?}");
                assert_eq!(told.iter().filter(|value| value.contains("ours")).count(), 1);
                assert_eq!(sent.contains_key("x-api-key"), wire == WireName::Anthropic);
            }
        }
    }
}

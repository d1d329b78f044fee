//! Keys, whichever header they travel in. Clients of OpenAI send `Authorization`, those of Anthropic either that or
//! `x-api-key`; a token of ours may be in either, or in a header of its own. Everything that looks at keys does it
//! here.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::wire::WireName;

/// The other header that keys travel in.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// Whose part of an account is meant. Beside a key of ours, that is for whoever set the key to say.
const PARTS: [&str; 2] = ["openai-organization", "openai-project"];
/// A token of ours, beside whatever key is meant for the upstream.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("x-scrollback-token");
/// How every token of ours begins.
pub(super) const MARK: &str = "sb_";

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
        for name in PARTS {
            headers.remove(name);
        }
        headers.remove(header::AUTHORIZATION);
        headers.remove(API_KEY);
        headers.insert(self.header.clone(), self.value.clone());
    }
}

/// Takes the token of ours out of a request, so that it goes nowhere else. Fails if its keys cannot be trusted: more
/// than one, and not the same.
pub(super) fn taken(headers: &mut HeaderMap) -> Result<Option<HeaderValue>, &'static str> {
    let several = |name| headers.get_all(name).iter().count() > 1;
    if several(header::AUTHORIZATION) || several(API_KEY) || several(TOKEN) {
        return Err("a request has one key; this one repeats the header of its key");
    }
    let key = |name: HeaderName| headers.get(name).map(|value| bare(value.as_bytes()));
    let (bearer, other) = (key(header::AUTHORIZATION), key(API_KEY));
    if matches!((bearer, other), (Some(bearer), Some(other)) if bearer != other) {
        return Err("Authorization and x-api-key hold different keys; send one of them");
    }
    let ours = bearer.or(other).filter(|key| key.starts_with(MARK.as_bytes()));
    let own = key(TOKEN);
    if matches!((ours, own), (Some(ours), Some(own)) if ours != own) {
        return Err("the request holds two tokens of Scrollback; send one of them");
    }
    let (is_key, token) = (ours.is_some(), own.or(ours).and_then(|token| HeaderValue::from_bytes(token).ok()));
    headers.remove(TOKEN);
    if is_key {
        headers.remove(header::AUTHORIZATION);
        headers.remove(API_KEY);
    }
    Ok(token)
}

/// A key without the word for how it is sent.
fn bare(value: &[u8]) -> &[u8] {
    let value = value.trim_ascii();
    match value.split_at_checked(7) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case(b"bearer ") => key.trim_ascii(),
        _ => value,
    }
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
        let fits = |pairs: &[(&'static str, &'static str)]| taken(&mut headers(pairs)).is_ok();
        assert!(fits(&[]));
        assert!(fits(&[("authorization", "Bearer a"), ("x-api-key", "a")]));
        assert!(fits(&[("authorization", "bearer a"), ("x-api-key", "a")]));
        assert!(fits(&[("authorization", "Bearer a"), ("x-scrollback-token", "sb_b")]), "one is for the upstream");
        assert!(!fits(&[("authorization", "Bearer a"), ("x-api-key", "b")]));
        assert!(!fits(&[("authorization", "Bearer a"), ("authorization", "Bearer a")]));
        assert!(!fits(&[("x-api-key", "a"), ("x-api-key", "b")]));
        assert!(!fits(&[("x-scrollback-token", "sb_a"), ("x-scrollback-token", "sb_a")]));
        assert!(!fits(&[("authorization", "Bearer sb_a"), ("x-scrollback-token", "sb_b")]));
        assert!(!fits(&[("authorization", "Bearer sb_a"), ("x-api-key", "sk-theirs")]));
    }

    #[test]
    fn a_token_of_ours_is_taken_out_of_whichever_header() {
        let cases: [&[(&str, &str)]; 6] = [
            &[("authorization", "Bearer sb_a")],
            &[("authorization", "bearer  sb_a ")],
            &[("authorization", "sb_a")],
            &[("x-api-key", "sb_a")],
            &[("authorization", "Bearer sb_a"), ("x-api-key", "sb_a")],
            &[("authorization", "Bearer sb_a"), ("x-scrollback-token", "sb_a")],
        ];
        for case in cases {
            let mut sent = HeaderMap::new();
            for (name, value) in case {
                sent.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
            }
            assert_eq!(taken(&mut sent).unwrap().unwrap(), "sb_a", "{case:?}");
            assert!(sent.is_empty(), "{sent:?}");
        }
        let mut sent = headers(&[("authorization", "Bearer sk-theirs"), ("x-scrollback-token", "sb_a")]);
        assert_eq!(taken(&mut sent).unwrap().unwrap(), "sb_a");
        assert_eq!((sent.len(), sent["authorization"].as_bytes()), (1, &b"Bearer sk-theirs"[..]));
        let mut sent = headers(&[("authorization", "Bearer sk-theirs")]);
        assert_eq!((taken(&mut sent), sent.len()), (Ok(None), 1));
    }

    #[test]
    fn our_key_replaces_the_clients_in_either_header() {
        for wire in [WireName::Chat, WireName::Responses, WireName::Anthropic] {
            for theirs in ["authorization", "x-api-key"] {
                let mut sent = headers(&[
                    (theirs, "Bearer theirs"),
                    ("openai-organization", "org-theirs"),
                    ("openai-project", "proj-theirs"),
                    ("x-other", "stays"),
                ]);
                Key::new("ours", wire).unwrap().replace(&mut sent);
                let told: Vec<String> = sent.values().map(|value| value.to_str().unwrap().to_owned()).collect();
                assert!(!told.iter().any(|value| value.contains("theirs")), "{told:?}");
                assert_eq!(told.iter().filter(|value| value.contains("ours")).count(), 1);
                assert_eq!(sent.contains_key("x-api-key"), wire == WireName::Anthropic);
            }
        }
    }
}

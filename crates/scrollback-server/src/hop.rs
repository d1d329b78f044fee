//! Knows another Scrollback on the way, by the `via` header that proxies leave: two would fold the same conversation
//! twice.

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue, header};
use scrollback::ids::Hash128;

/// How we sign.
const NAME: &str = "scrollback-";
/// How many hexadecimal digits follow.
const SIGN_LETTERS: usize = 12;

/// Our signature: no two processes that run at a time have the same.
static OURS: LazyLock<String> = LazyLock::new(|| {
    let (time, process) = (crate::clock::now().0.to_le_bytes(), std::process::id().to_le_bytes());
    format!("{NAME}{}", &Hash128::of("hop", &[&time, &process]).to_string()[..SIGN_LETTERS])
});

/// Who was here before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nobody.
    Nobody,
    /// Another Scrollback, which manages the conversation already.
    Another,
    /// We ourselves: the upstream leads back here.
    Ourselves,
}

/// Who a request came through.
pub(crate) fn before(headers: &HeaderMap) -> Before {
    if names(headers).any(|name| name == OURS.as_str()) {
        Before::Ourselves
    } else if names(headers).any(is_scrollback) {
        Before::Another
    } else {
        Before::Nobody
    }
}

/// Whether a request came through somebody who is no Scrollback.
pub(crate) fn is_through_others(headers: &HeaderMap) -> bool {
    names(headers).any(|name| !is_scrollback(name))
}

/// What those call themselves that a request came through.
fn names(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let vias = headers.get_all(header::VIA).iter().map(|value| value.to_str().unwrap_or_default());
    vias.flat_map(|via| via.split(',')).map(|hop| hop.split_whitespace().nth(1).unwrap_or_default())
}

fn is_scrollback(name: &str) -> bool {
    let sign = name.strip_prefix(NAME);
    sign.is_some_and(|sign| sign.len() == SIGN_LETTERS && sign.chars().all(|c| c.is_ascii_hexdigit()))
}

/// Signs a request that goes on.
pub(crate) fn mark(headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_str(&format!("1.1 {}", *OURS)) {
        headers.append(header::VIA, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_only_called_like_it_is_no_scrollback() {
        for via in ["1.1 scrollback-gw.example.org", "1.1 scrollback-frontend", "1.1 cache (scrollback-000000000000)"] {
            let headers: HeaderMap = [(header::VIA, HeaderValue::from_static(via))].into_iter().collect();
            assert_eq!((before(&headers), is_through_others(&headers)), (Before::Nobody, true), "{via}");
        }
    }

    #[test]
    fn a_hop_is_known_again() {
        let mut headers = HeaderMap::new();
        assert_eq!(before(&headers), Before::Nobody);
        headers.append(header::VIA, HeaderValue::from_static("1.1 cache.example, 1.1 scrollback-000000000000"));
        assert_eq!(before(&headers), Before::Another);
        mark(&mut headers);
        assert_eq!(before(&headers), Before::Ourselves);
    }

    #[test]
    fn a_hop_that_is_no_scrollback_is_told_apart() {
        let through = |via: &'static str| {
            is_through_others(&HeaderMap::from_iter([(header::VIA, HeaderValue::from_static(via))]))
        };
        let mut ours = HeaderMap::new();
        assert!(!is_through_others(&ours));
        mark(&mut ours);
        assert!(!is_through_others(&ours) && !through("1.1 scrollback-00000000000a, 1.1 scrollback-00000000000b"));
        for via in [
            "1.1 varnish",
            "1.1 scrollback-00000000000a, 2 caddy",
            "1.1 evil (scrollback-00000000000a)",
            "",
            "scrollback-00000000000a",
        ] {
            assert!(through(via), "{via}");
        }
    }
}

//! Knows another Scrollback on the way, by the `via` header that proxies leave: two would fold the same conversation
//! twice.

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue, header};
use scrollback::ids::Hash128;

/// How we sign.
const NAME: &str = "scrollback-";

/// Our signature: no two processes that run at a time have the same.
static OURS: LazyLock<String> = LazyLock::new(|| {
    let (time, process) = (crate::clock::now().0.to_le_bytes(), std::process::id().to_le_bytes());
    format!("{NAME}{}", &Hash128::of("hop", &[&time, &process]).to_string()[..12])
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
    let hops: Vec<&str> = headers.get_all(header::VIA).iter().filter_map(|value| value.to_str().ok()).collect();
    let signed = |signature: &str| hops.iter().any(|hop| hop.contains(signature));
    if signed(OURS.as_str()) {
        Before::Ourselves
    } else if signed(NAME) {
        Before::Another
    } else {
        Before::Nobody
    }
}

/// Whether a request came through somebody who is no Scrollback.
pub(crate) fn is_through_others(headers: &HeaderMap) -> bool {
    let is_scrollback = |hop: &str| hop.split_whitespace().nth(1).is_some_and(|name| name.starts_with(NAME));
    let mut vias = headers.get_all(header::VIA).iter().map(|value| value.to_str().unwrap_or("?"));
    vias.any(|via| !via.split(',').all(is_scrollback))
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
        assert!(!is_through_others(&ours) && !through("1.1 scrollback-00, 1.1 scrollback-01"));
        for via in ["1.1 varnish", "1.1 scrollback-00, 2 caddy", "1.1 evil (scrollback-00)", "", "scrollback-00"] {
            assert!(through(via), "{via}");
        }
    }
}

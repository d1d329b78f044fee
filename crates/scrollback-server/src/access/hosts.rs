//! Whom a request is addressed to, and where it comes from: names and addresses, as headers and the connection tell
//! them.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, header};

use crate::hop;

/// Left by whoever passes on what others sent; so are `X-Forwarded-…` and `Via`.
const FORWARDED: [&str; 10] = [
    "forwarded",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-forwarded-for",
    "true-client-ip",
    "cf-connecting-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "cdn-loop",
];
/// What a browser says of the page that asks.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a request is addressed to us by a name of ours, and not sent by a web page from elsewhere. An address is
/// nobody's name, so it cannot be given to us by somebody else; a page may stand at any address, though, so it must be
/// that of the request.
pub(super) fn is_addressed(headers: &HeaderMap, known: &[String]) -> bool {
    let is_ours = |name: &str| known.iter().any(|known| name_of(known).eq_ignore_ascii_case(name) && name != "*");
    let is_known = |name: &str| is_loopback(name) || is_ours(name);
    // Any name may be ours; a page still has to say the same one.
    let is_any = known.iter().any(|known| known == "*");
    let hosts: Vec<&str> = all(headers, &header::HOST).map(name_of).collect();
    let called = hosts.iter().all(|name| is_any || address(name).is_some() || is_known(name));
    let mut origins =
        all(headers, &header::ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
    called && origins.all(|origin| is_known(name_of(origin)) || all(headers, &header::HOST).any(|host| host == origin))
}

/// Whether a browser says that a page from elsewhere asks, but not which: pages may embed what they cannot read. Where
/// the page is named (`Origin`), [`is_addressed`] has decided about it.
pub(super) fn is_embedded(headers: &HeaderMap) -> bool {
    let elsewhere = all(headers, &SITE).any(|site| site != "same-origin" && site != "none");
    elsewhere && !headers.contains_key(header::ORIGIN)
}

/// Whether whoever asks sits at this machine and says so, and nobody stands between.
pub(super) fn is_local(headers: &HeaderMap, peer: Option<SocketAddr>) -> bool {
    let mut hosts = all(headers, &header::HOST);
    let here = hosts.next().is_some_and(|host| is_loopback(name_of(host))) && hosts.next().is_none();
    let left = |name: &HeaderName| FORWARDED.contains(&name.as_str()) || name.as_str().starts_with("x-forwarded-");
    let passed_on = headers.keys().any(left) || hop::is_through_others(headers);
    here && peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback()) && !passed_on
}

fn all<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"))
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

fn address(name: &str) -> Option<IpAddr> {
    name.trim_matches(['[', ']']).parse().ok()
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || address(name).is_some_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn names_of_others_are_not_ours() {
        let known = ["scrollback.lan", "Log.Example:4141"].map(str::to_owned);
        let addressed = |pairs: &[(&'static str, &'static str)]| is_addressed(&headers(pairs), &known);
        for host in ["localhost", "localhost:4141", "127.0.0.1:4141", "[::1]:4141", "192.168.1.5", "scrollback.lan:80"]
        {
            assert!(addressed(&[("host", host)]), "{host}");
        }
        for host in ["log.example", "LOG.example:80", "Scrollback.LAN:4141", "log.example:4141"] {
            assert!(addressed(&[("host", host)]), "{host}");
            let origin = [("host", host), ("origin", "https://LOG.EXAMPLE")];
            assert!(addressed(&origin), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", ""] {
            assert!(!addressed(&[("host", host)]), "{host}");
        }
        assert!(!addressed(&[("host", "localhost"), ("host", "evil.example")]));
    }

    #[test]
    fn a_page_must_stand_where_it_asks_or_at_this_machine() {
        let addressed = |host, origin| is_addressed(&headers(&[("host", host), ("origin", origin)]), &[]);
        assert!(addressed("127.0.0.1:4141", "http://localhost:3000"));
        assert!(addressed("192.168.1.5:4141", "http://192.168.1.5:4141"));
        for origin in
            ["https://evil.example", "null", "http://203.0.113.7", "http://192.168.1.5:9999", "http://localhost.evil"]
        {
            assert!(!addressed("192.168.1.5:4141", origin), "{origin}");
        }
    }

    #[test]
    fn any_name_may_be_ours_but_not_any_page() {
        let addressed = |pairs: &[(&'static str, &'static str)]| is_addressed(&headers(pairs), &["*".to_owned()]);
        assert!(addressed(&[("host", "any.example")]));
        assert!(addressed(&[("host", "any.example:4141"), ("origin", "http://any.example:4141")]));
        assert!(addressed(&[("host", "any.example"), ("origin", "http://localhost:3000")]));
        for origin in ["https://evil.example", "null", "*", "http://*"] {
            assert!(!addressed(&[("host", "any.example"), ("origin", origin)]), "{origin}");
        }
    }

    #[test]
    fn local_is_who_connects_from_here_by_a_name_of_here_with_nobody_between() {
        let (here, elsewhere) = ("127.0.0.1:5000".parse().ok(), "192.168.1.9:5000".parse().ok());
        let mapped = "[::ffff:127.0.0.1]:5000".parse().ok();
        for host in ["localhost:4141", "127.0.0.1", "[::1]:4141", "127.8.8.8:1"] {
            assert!(
                is_local(&headers(&[("host", host)]), here) && is_local(&headers(&[("host", host)]), mapped),
                "{host}"
            );
            assert!(!is_local(&headers(&[("host", host)]), elsewhere) && !is_local(&headers(&[("host", host)]), None));
        }
        assert!(!is_local(&headers(&[]), here) && !is_local(&headers(&[("host", "192.168.1.5")]), here));
        assert!(!is_local(&headers(&[("host", "localhost"), ("host", "localhost")]), here));
        for name in ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"] {
            assert!(!is_local(&headers(&[("host", "localhost"), (name, "127.0.0.1")]), here), "{name}");
        }
        for name in ["true-client-ip", "x-client-ip", "fly-client-ip", "via"] {
            assert!(!is_local(&headers(&[("host", "localhost"), (name, "127.0.0.1")]), here), "{name}");
        }
    }

    #[test]
    fn a_page_that_embeds_us_is_known_by_what_its_browser_says() {
        let embedded = |pairs: &[(&'static str, &'static str)]| is_embedded(&headers(pairs));
        for site in ["cross-site", "same-site", "anything-new"] {
            assert!(embedded(&[("sec-fetch-site", site)]), "{site}");
            assert!(embedded(&[("sec-fetch-site", "none"), ("sec-fetch-site", site)]), "{site}");
            assert!(!embedded(&[("sec-fetch-site", site), ("origin", "http://localhost:3000")]), "{site}");
        }
        assert!(!embedded(&[]) && !embedded(&[("sec-fetch-site", "none")]));
        assert!(!embedded(&[("sec-fetch-site", "same-origin")]));
    }
}

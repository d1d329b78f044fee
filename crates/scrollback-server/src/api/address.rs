//! Addresses of upstreams as everybody may read them.

/// An address without what may be a secret: a name and a password before the host, and whatever stands behind the path.
pub(super) fn bare(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_no_secret() {
        assert_eq!(bare("https://api.openai.com/v1"), "https://api.openai.com/v1");
        assert_eq!(bare("http://mira:secret@10.0.0.7:8080/v1?key=secret#secret"), "http://10.0.0.7:8080/v1");
        assert_eq!(bare("http://a@b:secret@host"), "http://host");
        assert_eq!(bare("http://host/a@b"), "http://host/a@b");
    }
}

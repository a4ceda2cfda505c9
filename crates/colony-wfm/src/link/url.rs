//! The URL of a server: where to connect, and the prefix of each path.

use http::Uri;
use http::uri::Scheme;
use rustls::pki_types::ServerName;

const HTTPS_PORT: u16 = 443;
const MAX_URL: usize = 2048;

/// A parsed base URL.
pub(crate) struct Base {
    pub(crate) url: String,
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// As in the URL and in the header `Host`.
    pub(crate) authority: String,
    /// The prefix of all paths, without a trailing slash.
    pub(crate) prefix: String,
    pub(crate) name: ServerName<'static>,
}

impl Base {
    pub(crate) fn parse(url: &str) -> Option<Base> {
        let uri: Uri = url.parse().ok().filter(|_| url.len() <= MAX_URL)?;
        let authority = uri.authority()?;
        let plain = uri.query().is_none() && !authority.as_str().contains('@');
        if uri.scheme() != Some(&Scheme::HTTPS) || !plain {
            return None;
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        Some(Base {
            url: url.trim_end_matches('/').to_owned(),
            port: authority.port_u16().unwrap_or(HTTPS_PORT),
            authority: authority.to_string(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            name: ServerName::try_from(host.clone()).ok()?,
            host,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_split() {
        check("https://hub.local:7443", "hub.local 7443 [hub.local:7443] ");
        check("https://hub.local:7443/", "hub.local 7443 [hub.local:7443] ");
        check("https://10.0.0.7/v1/margo/", "10.0.0.7 443 [10.0.0.7] /v1/margo");
        check("https://[::1]:7444", "::1 7444 [[::1]:7444] ");
    }

    #[test]
    fn other_urls_are_refused() {
        for url in
            ["", "hub", "http://hub:1", "https://", "https://a@hub", "https://hub?q", "https://h b"]
        {
            assert!(Base::parse(url).is_none(), "{url}");
        }
    }

    #[track_caller]
    fn check(url: &str, expected: &str) {
        let base = Base::parse(url).unwrap();
        let Base { host, port, authority, prefix, .. } = base;
        assert_eq!(format!("{host} {port} [{authority}] {prefix}"), expected);
    }
}

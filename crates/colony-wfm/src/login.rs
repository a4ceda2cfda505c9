//! Credentials inside URLs: finds them, and removes them before a URL is shown.

use std::ops::Range;

/// The replacement for a secret.
const MASK: &str = "***";

/// The password of `scheme://user:password@host/…`.
pub fn password(url: &str) -> Option<&str> {
    let (_, password) = url[login(url)?].split_once(':')?;
    Some(password).filter(|it| !it.is_empty())
}

/// The URL without user and password.
pub fn without_login(url: &str) -> String {
    match login(url) {
        Some(login) => format!("{}{}", &url[..login.start], &url[login.end + 1..]),
        None => url.to_owned(),
    }
}

/// The URL to print. The user of an HTTP URL may be a token.
pub fn masked(url: &str) -> String {
    let Some(login) = login(url) else { return without_secret_options(url) };
    let (before, after) = (&url[..login.start], &url[login.end..]);
    let http = ["http://", "https://"].iter().any(|it| before.eq_ignore_ascii_case(it));
    let shown = match url[login].split_once(':') {
        Some((user, _)) if !http => format!("{user}:{MASK}"),
        None if !http => return without_secret_options(url),
        Some(_) | None => MASK.to_owned(),
    };
    without_secret_options(&format!("{before}{shown}{after}"))
}

/// Masks `?password=…`, as databases accept it.
fn without_secret_options(url: &str) -> String {
    let Some((address, query)) = url.split_once('?') else { return url.to_owned() };
    let option = |it: &str| match it.split_once('=') {
        Some((name @ ("password" | "sslpassword"), _)) => format!("{name}={MASK}"),
        Some(_) | None => it.to_owned(),
    };
    let options: Vec<String> = query.split('&').map(option).collect();
    format!("{address}?{}", options.join("&"))
}

/// The range of user and password, without the `@`.
fn login(url: &str) -> Option<Range<usize>> {
    let start = url.find("://")? + 3;
    let rest = &url[start..];
    let authority = rest.find(['/', '?', '#']).map_or(rest, |end| &rest[..end]);
    Some(start..start + authority.rfind('@')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_found_wherever_it_stands() {
        check("https://h/a@b", None, "https://h/a@b", "https://h/a@b");
        check("https://t0k@h/r", None, "https://h/r", "https://***@h/r");
        check("HTTPS://t0k@h/r", None, "HTTPS://h/r", "HTTPS://***@h/r");
        check("https://a:p@h:1/r", Some("p"), "https://h:1/r", "https://***@h:1/r");
        check("https://a:p@q@h/r", Some("p@q"), "https://h/r", "https://***@h/r");
        check("ssh://git@h/r", None, "ssh://h/r", "ssh://git@h/r");
        check("git@h:team/r", None, "git@h:team/r", "git@h:team/r");
        check("postgres://c:p@h/d", Some("p"), "postgres://h/d", "postgres://c:***@h/d");
        let url = "postgres://h/d?sslmode=require&password=p";
        check(url, None, url, "postgres://h/d?sslmode=require&password=***");
        check("", None, "", "");
    }

    #[track_caller]
    fn check(url: &str, secret: Option<&str>, plain: &str, shown: &str) {
        assert_eq!(password(url), secret, "{url}");
        assert_eq!(without_login(url), plain, "{url}");
        assert_eq!(masked(url), shown, "{url}");
    }
}

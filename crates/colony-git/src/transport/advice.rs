//! Known error messages of `ssh` and `git`, each with advice for the operator.

/// Part of an error message of `ssh` or `git`, whether it means that access was
/// refused, and the advice.
const KNOWN: [(&str, bool, &str); 10] = [
    (
        "Host key verification failed",
        true,
        "the host's key is not the known one; compare it (ssh-keyscan prints it) and add it to \
         known_hosts of the user that runs colony",
    ),
    (
        "Permission denied (",
        true,
        "the host takes no key of the user that runs colony; add the public key there, or name \
         another with IdentityFile in that user's ssh configuration",
    ),
    ("Permission denied", true, "the user that colony comes as may not do this there"),
    ("certificate verification failed", false, UNKNOWN_AUTHORITY),
    ("SSL certificate problem", false, UNKNOWN_AUTHORITY),
    ("Authentication failed", true, TOKEN),
    ("could not read Username", true, TOKEN),
    ("could not read Password", true, TOKEN),
    ("error: 401", true, TOKEN),
    ("error: 403", true, "the token needs the right to write to this repository"),
];

pub(crate) const TOKEN: &str =
    "the server wants another token; `git.token-file` names the file that holds it";
pub(crate) const UNKNOWN_AUTHORITY: &str = "the authority that signed the server's certificate is \
    not trusted here; add it to the machine's authorities, or name a file with it in SSL_CERT_FILE";

/// An error message followed by advice, and whether access was refused.
pub(crate) fn advised(said: String) -> (String, bool) {
    match KNOWN.iter().find(|(mark, _, _)| said.contains(mark)) {
        Some((_, refused, advice)) => (format!("{said}: {advice}"), *refused),
        None => (said, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_complaints_get_advice() {
        check("Host key verification failed.", true, "known_hosts");
        check("pat@h: Permission denied (publickey).", true, "IdentityFile");
        check("fatal: Authentication failed for 'https://h/'", true, "git.token-file");
        check("server certificate verification failed. CAfile: none", false, "SSL_CERT_FILE");
        check("Could not resolve host: h", false, "Could not resolve host: h");
    }

    #[track_caller]
    fn check(said: &str, refused: bool, part: &str) {
        let (text, closed) = advised(said.to_owned());
        assert!(text.starts_with(said) && text.contains(part), "{text}");
        assert_eq!(closed, refused, "{said}");
    }
}

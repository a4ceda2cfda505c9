//! Checks of repository paths and branch names before they reach Git.

use crate::Error;

const PATH_LIMIT: usize = 512;

/// Refuses a path that no file of the repository can have.
pub(crate) fn check(path: &str) -> Result<(), Error> {
    match problem(path) {
        Some(problem) => Err(Error::Path { path: path.chars().take(120).collect(), problem }),
        None => Ok(()),
    }
}

/// Whether a path in a site's folder is a deployment; other files are for
/// people.
pub(crate) fn is_document(path: &str) -> bool {
    path.ends_with(".yaml") || path.ends_with(".yml")
}

fn problem(path: &str) -> Option<&'static str> {
    if path.len() > PATH_LIMIT {
        return Some("it is longer than 512 bytes");
    }
    if path.starts_with('/') {
        return Some("it is absolute");
    }
    if path.chars().any(|it| it.is_control() || it == '\\') {
        return Some("it has a control character or a backslash");
    }
    path.split('/').find_map(segment_problem)
}

fn segment_problem(segment: &str) -> Option<&'static str> {
    let lower = segment.to_ascii_lowercase();
    match lower.as_str() {
        "" => Some("a part of it is empty"),
        "." | ".." => Some("a part of it is `.` or `..`"),
        // Some file systems treat `.git.`, `.git ` and `git~1` as `.git`.
        _ if lower.starts_with(".git") || lower.starts_with("git~") => {
            Some("a part of it belongs to Git")
        }
        _ => None,
    }
}

/// The full name of a branch.
pub(crate) fn branch_ref(branch: &str) -> Result<String, Error> {
    let name = format!("refs/heads/{branch}");
    let valid = gix::validate::reference::name(name.as_str().into()).is_ok();
    if valid && branch.len() <= 200 && !branch.starts_with('-') {
        return Ok(name);
    }
    Err(Error::Branch { text: branch.chars().take(120).collect() })
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_stay_inside_the_repository() {
        check("deployments/home/hello.yaml", "ok");
        check("sites/home.yaml", "ok");
        check("", "a part of it is empty");
        check("/etc/passwd", "it is absolute");
        check("deployments/../x", "a part of it is `.` or `..`");
        check("./x", "a part of it is `.` or `..`");
        check("deployments//x", "a part of it is empty");
        check("deployments/", "a part of it is empty");
        check(".git/config", "a part of it belongs to Git");
        check("a/.GIT/config", "a part of it belongs to Git");
        check("a/GIT~1/config", "a part of it belongs to Git");
        check("a\\b", "it has a control character or a backslash");
        check("a\nb", "it has a control character or a backslash");
        check(&"x".repeat(512), "ok");
        check(&"x".repeat(513), "it is longer than 512 bytes");
        assert!(super::check("x").is_ok() && super::check("../x").is_err());
    }

    #[test]
    fn branches_have_names_git_takes() {
        for (branch, valid) in [
            ("main", true),
            ("release/1.0", true),
            ("", false),
            ("a..b", false),
            ("-x", false),
            ("a b", false),
            ("x.lock", false),
            ("a:b", false),
        ] {
            assert_eq!(super::branch_ref(branch).is_ok(), valid, "{branch}");
        }
        assert!(super::branch_ref(&"x".repeat(200)).is_ok());
        assert!(super::branch_ref(&"x".repeat(201)).is_err());
    }

    #[track_caller]
    fn check(path: &str, expected: &str) {
        assert_eq!(super::problem(path).unwrap_or("ok"), expected, "{path}");
    }
}

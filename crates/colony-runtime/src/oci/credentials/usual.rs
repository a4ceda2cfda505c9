//! Where `docker login` and `podman login` keep the credentials of a user.

use std::ffi::OsString;
use std::path::PathBuf;

/// The files of the user with this environment, Docker's first. They may be
/// absent.
pub fn usual_credential_files(environment: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let path = |name: &str| environment(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let docker = path("DOCKER_CONFIG").or_else(|| Some(path("HOME")?.join(".docker")));
    let docker = docker.map(|it| it.join("config.json"));
    let podman = path("REGISTRY_AUTH_FILE").unwrap_or_else(|| {
        // Podman without a session, as for root in a service.
        let of_user = || format!("/run/containers/{}", rustix::process::geteuid().as_raw());
        let folder = path("XDG_RUNTIME_DIR").map(|it| it.join("containers"));
        folder.unwrap_or_else(|| PathBuf::from(of_user())).join("auth.json")
    });
    docker.into_iter().chain([podman]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_name_the_files_of_docker_and_podman() {
        let home = ("HOME", "/people/ann");
        let run = ("XDG_RUNTIME_DIR", "/run/user/7");
        let podman = "/run/user/7/containers/auth.json";
        check(&[home, run], &["/people/ann/.docker/config.json", podman]);
        check(&[home, run, ("DOCKER_CONFIG", "/d")], &["/d/config.json", podman]);
        check(&[run, ("REGISTRY_AUTH_FILE", "/a.json")], &["/a.json"]);
        check(&[run, ("REGISTRY_AUTH_FILE", ""), ("DOCKER_CONFIG", "")], &[podman]);
        let own = format!("/run/containers/{}/auth.json", rustix::process::geteuid().as_raw());
        check(&[home], &["/people/ann/.docker/config.json", &own]);
    }

    #[track_caller]
    fn check(environment: &[(&str, &str)], expected: &[&str]) {
        let value = |name: &str| environment.iter().find(|it| it.0 == name).map(|it| it.1.into());
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(usual_credential_files(value), expected);
    }
}

//! Tests of `colony app`: from an empty folder to an archive, with the
//! findings.

use std::path::{Path, PathBuf};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use colony_runtime::compose::Archive;

use super::folder::{Package, pack};
use super::{lint, new, package};
use crate::cli::{AppNew, AppPackage, AppPush, Format};
use crate::command::tests::Buffer;
use crate::output::Out;

#[test]
fn the_sample_is_fine_and_becomes_an_archive() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = sample(dir.path());
    check(&folder, "0: ");
    check(&folder.join("web/compose.yaml"), "0: ");

    let args = AppPackage { folder: folder.clone() };
    let made = printed(|out| package::package(&args, out).map(|()| 0)).expect("an archive");
    let path = folder.join("web-1.0.0.tar.gz");
    assert!(made.contains("web: ") && made.contains("web-1.0.0.tar.gz, sha256:"), "{made}");
    check(&path, "0: ");
    let bytes = std::fs::read(&path).expect("the archive");
    let archive = Archive::unpack(&bytes).expect("nodes can read it");
    assert_eq!(archive.files().map(|it| it.0).collect::<Vec<_>>(), ["compose.yaml"]);
    let again = printed(|out| package::package(&args, out).map(|()| 0)).expect("an archive");
    assert_eq!(again, made, "the same files give the same archive");
}

#[test]
fn mistakes_are_found_with_their_place() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = sample(dir.path());
    let compose = folder.join("web/compose.yaml");
    let text = std::fs::read_to_string(&compose).expect("the file");
    std::fs::write(&compose, text.replace("ports:", "port:")).expect("writable");
    let expected = "1: FOLDER/web/compose.yaml:5:5: services.web.port: key is not supported";
    check(&folder, expected);
    check(&compose, expected);
    let error = Package::open(&folder).expect("a package").components()[0]
        .archive(&std::collections::BTreeMap::new())
        .expect_err("nodes could not use it");
    assert!(error.to_string().contains("compose.yaml:5:5: services.web.port"), "{error}");

    let archive = folder.join("web-1.0.0.tar.gz");
    std::fs::write(&archive, pack(&folder.join("web"), "web").expect("packed")).expect("writable");
    check(
        &archive,
        "1: FOLDER/web-1.0.0.tar.gz/compose.yaml:5:5: services.web.port: key is not supported",
    );
    std::fs::write(&archive, "nothing").expect("writable");
    check(&archive, "1: FOLDER/web-1.0.0.tar.gz");

    std::fs::write(folder.join("margo.yaml"), "id: 7").expect("writable");
    check(&folder, "1: FOLDER/margo.yaml:1:1: apiVersion: is missing");
}

#[test]
fn files_beside_the_compose_file_are_packed_and_links_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = sample(dir.path());
    let web = folder.join("web");
    std::fs::create_dir_all(web.join("conf")).expect("writable");
    std::fs::write(web.join("conf/app.toml"), "a = 1").expect("writable");
    let bytes = pack(&web, "web").expect("packed");
    let archive = Archive::unpack(&bytes).expect("nodes can read it");
    let names: Vec<&str> = archive.files().map(|it| it.0).collect();
    assert_eq!(names, ["compose.yaml", "conf/app.toml"]);
    std::os::unix::fs::symlink("/etc/passwd", web.join("link")).expect("writable");
    let error = pack(&web, "web").expect_err("a link is not packed");
    assert!(error.to_string().contains("neither a file nor a folder"), "{error}");
}

#[test]
fn a_sample_overwrites_nothing_and_needs_a_name_and_a_registry() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = sample(dir.path());
    refused(&folder, "localhost:5000", "is not empty");
    refused(&dir.path().join("Not A Name"), "localhost:5000", "application id");
    refused(&dir.path().join("pump"), "no registry", "is not a registry");
    assert!(!dir.path().join("pump").exists());
}

#[tokio::test]
async fn push_uses_the_credentials_of_a_file() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move { refuse_all(&listener, "Basic YW5uOnMzY3IzdA==").await });
    let dir = tempfile::tempdir().expect("a folder");
    let (folder, file) = (dir.path().join("camera"), dir.path().join("auth.json"));
    let args = AppNew { folder: folder.clone(), registry: host.clone() };
    printed(|out| new::run(&args, out).map(|()| 0)).expect("a sample");
    let registry_credentials = Some(file.clone());
    let args =
        AppPush { folder, registry_credentials, user: None, password_file: None, insecure: false };

    let error = pushed(&args).await;
    let expected = format!("there are no credentials for `{host}` in {} (does not", file.display());
    assert!(error.contains(&expected), "{error}");

    let auths = format!("{{\"auths\": {{\"{host}\": {{\"auth\": \"YW5uOnMzY3IzdA==\"}}}}}}");
    std::fs::write(&file, auths).expect("writable");
    let error = pushed(&args).await;
    assert!(error.contains("the registry answers 503"), "{error}");
}

/// Why a push failed.
async fn pushed(args: &AppPush) -> String {
    let mut out = Out::buffers(Format::Table, Buffer::default(), std::io::sink());
    package::push(args, &mut out).await.expect_err("it is refused").to_string()
}

/// Answers 503 to requests with this authorization, 401 to others.
async fn refuse_all(listener: &TcpListener, authorization: &str) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).await.unwrap_or(0);
        let known = String::from_utf8_lossy(&part[..count]).contains(authorization);
        let status = if known { "503 Busy" } else { "401 Unauthorized" };
        let answer = format!(
            "HTTP/1.1 {status}\r\nwww-authenticate: Basic realm=\"x\"\r\ncontent-length: 0\r\n\r\n"
        );
        let _ = stream.write_all(answer.as_bytes()).await;
    }
}

fn sample(dir: &Path) -> PathBuf {
    let folder = dir.join("camera");
    let args = AppNew { folder: folder.clone(), registry: "localhost:5000".to_owned() };
    printed(|out| new::run(&args, out).map(|()| 0)).expect("a sample");
    folder
}

#[track_caller]
fn refused(folder: &Path, registry: &str, expected: &str) {
    let args = AppNew { folder: folder.to_owned(), registry: registry.to_owned() };
    let error = printed(|out| new::run(&args, out).map(|()| 0)).expect_err("refused");
    assert!(error.to_string().contains(expected), "{error}");
}

/// Compares the exit code and how the findings begin.
#[track_caller]
fn check(path: &Path, expected: &str) {
    let files = [path.to_owned()];
    let found = printed(|out| lint::run(&files, out)).expect("readable");
    let folder = path.ancestors().find(|it| it.ends_with("camera")).expect("the package");
    let found = found.replace(&folder.display().to_string(), "FOLDER");
    match expected {
        "0: " => assert_eq!(found, expected),
        _ => assert!(found.starts_with(expected), "{found}"),
    }
}

/// The exit code and the data that is printed.
fn printed(run: impl FnOnce(&mut Out) -> anyhow::Result<u8>) -> anyhow::Result<String> {
    let shown = Buffer::default();
    let mut out = Out::buffers(Format::Table, shown.clone(), std::io::sink());
    let code = run(&mut out)?;
    Ok(format!("{code}: {}", shown.text()))
}

//! Files of credentials: in which order they count, and what is said about
//! those that cannot be used.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use super::*;

const GOOD: &str = "{\"auths\": {\"r.example\": {\"auth\": \"YW5uOnM6M2NyM3Q=\"}}}";

#[tokio::test]
async fn changed_file_counts_at_the_next_use() {
    let folder = Folder::new();
    let store = folder.store();
    assert_eq!(store.password().await, None);
    folder.write("named", GOOD);
    assert_eq!(store.password().await.as_deref(), Some("s:3cr3t"));
    folder.write("named", &GOOD.replace("YW5uOnM6M2NyM3Q=", "YW5uOm90aGVy"));
    assert_eq!(store.password().await.as_deref(), Some("other"));
}

#[tokio::test]
async fn broken_file_affects_no_other() {
    let folder = Folder::new();
    folder.write("named", "{");
    folder.write("usual", GOOD);
    let store = folder.store();
    assert_eq!(store.password().await.as_deref(), Some("s:3cr3t"));
    let problem = folder.problem("named", "is not JSON: line 1, column 1");
    assert_eq!(store.problems().await, [problem]);
    folder.write("named", &GOOD.replace("YW5uOnM6M2NyM3Q=", "YW5uOm90aGVy"));
    assert_eq!(store.password().await.as_deref(), Some("other"), "the named file is the first");
}

#[tokio::test]
async fn named_file_has_to_exist_and_to_be_closed_to_others() {
    let folder = Folder::new();
    let store = folder.store();
    assert_eq!(store.problems().await, [folder.problem("named", "does not exist")]);
    folder.write("named", GOOD);
    assert_eq!(store.problems().await, Vec::<String>::new());
    fs::set_permissions(folder.path("named"), fs::Permissions::from_mode(0o644)).unwrap();
    let open = "every user of this machine can read it; use `chmod 600`";
    assert_eq!(store.problems().await, [folder.problem("named", open)]);
    folder.write("named", "{}");
    assert_eq!(store.problems().await, Vec::<String>::new(), "there is nothing secret in it");
}

#[tokio::test]
async fn only_a_regular_file_is_read() {
    let folder = Folder::new();
    fs::create_dir(folder.path("named")).unwrap();
    let expected = folder.problem("named", "could not be read: it is not a regular file");
    assert_eq!(folder.store().problems().await, [expected]);
    fs::remove_dir(folder.path("named")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path("named")).status().unwrap();
    assert!(made.success());
    let expected = folder.problem("named", "could not be read: it is not a regular file");
    assert_eq!(folder.store().problems().await, [expected]);
}

#[tokio::test]
async fn refusal_names_the_files_and_the_host() {
    let folder = Folder::new();
    let (named, usual) = (folder.path("named"), folder.path("usual"));
    let (named, usual) = (named.display(), usual.display());
    folder.write("named", "{\"credsStore\": \"desktop\"}");
    let helper =
        "the credential helper `desktop` is not supported, only credentials in `auths` are";
    let expected = format!(
        "there are no credentials for `r.example` in {named} ({helper}), {usual} (does not exist)"
    );
    assert_eq!(folder.reason().await, expected);
    folder.write("named", "{}");
    folder.write("usual", "[");
    let expected = format!(
        "there are no credentials for `r.example` in {named}, {usual} (is not JSON: line 1, \
         column 1)"
    );
    assert_eq!(folder.reason().await, expected);
    folder.write("named", GOOD);
    let expected = format!("it does not accept the credentials for `r.example` in {named}");
    assert_eq!(folder.reason().await, expected);
    let none = CredentialStore::default().find(&place()).await;
    assert_eq!(none.reason(), "there are no credentials for `r.example`");
}

#[tokio::test]
async fn debug_shows_no_secret() {
    let password = Credential::Password { user: "ann".to_owned(), password: "s3cr3t".to_owned() };
    let token = Credential::IdentityToken("s3cr3t".to_owned());
    for credential in [password, token] {
        let store = CredentialStore::given(BTreeMap::from([("r.example".to_owned(), credential)]));
        let shown = format!("{store:?} {:?}", store.find(&place()).await);
        assert!(!shown.contains("s3cr3t"), "{shown}");
    }
}

fn place() -> RegistryLocation {
    RegistryLocation::read("r.example/a").expect("a place")
}

impl CredentialStore {
    async fn password(&self) -> Option<String> {
        match self.find(&place()).await.credential() {
            Some(Credential::Password { password, .. }) => Some(password.clone()),
            Some(Credential::IdentityToken(_)) | None => None,
        }
    }
}

/// A folder with the file an operator named, and a usual one.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn store(&self) -> CredentialStore {
        CredentialStore::files(Some(self.path("named")), vec![self.path("usual")])
    }

    fn problem(&self, name: &str, what: &str) -> String {
        format!("registry credentials in {}: {what}", self.path(name).display())
    }

    async fn reason(&self) -> String {
        self.store().find(&place()).await.reason().to_owned()
    }
}

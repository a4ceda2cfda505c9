//! Credentials for registries, from the files of `docker login` and `podman
//! login`.
//!
//! The files are read again for each use, so a changed password needs no
//! restart. A file that cannot be used affects neither the other files nor
//! registries that need no credential.

mod document;
mod lookup;
mod scope;
mod usual;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::OFlags;
use tracing::warn;

use crate::config::Credential;
use crate::file;
use crate::oci::registry::RegistryLocation;
use document::{Document, Match, SIZE_LIMIT};
pub(crate) use lookup::Lookup;
pub use usual::usual_credential_files;

/// Credentials by registry. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct CredentialStore {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By host. They precede the files.
    given: BTreeMap<String, Credential>,
    /// The first file with a credential for a repository decides.
    files: Vec<CredentialFile>,
    /// What was wrong at the last look, so that it is logged once.
    logged: Mutex<BTreeSet<String>>,
}

#[derive(Debug, Clone)]
struct CredentialFile {
    path: PathBuf,
    /// An operator named it, so it has to exist and to be usable.
    required: bool,
}

/// What one look at a file found.
#[derive(Debug)]
struct Look {
    path: PathBuf,
    required: bool,
    /// `None` if there is no such file.
    document: Result<Option<Document>, String>,
    /// Every user of the machine can read it.
    open: bool,
}

impl CredentialStore {
    /// Credentials that are given by host, with its port if it has one.
    pub fn given(credentials: BTreeMap<String, Credential>) -> CredentialStore {
        CredentialStore { inner: Arc::new(Inner { given: credentials, ..Inner::default() }) }
    }

    /// The files to read: one that an operator named, then `usual`, which may
    /// be absent.
    pub fn files(named: Option<PathBuf>, usual: Vec<PathBuf>) -> CredentialStore {
        let named = named.map(|path| CredentialFile { path, required: true });
        let usual = usual.into_iter().map(|path| CredentialFile { path, required: false });
        let files = named.into_iter().chain(usual).collect();
        CredentialStore { inner: Arc::new(Inner { files, ..Inner::default() }) }
    }

    /// What is wrong with the file that an operator named. What is wrong with
    /// any file is logged when it is first seen.
    pub async fn problems(&self) -> Vec<String> {
        let looks = self.look().await;
        let named = looks.iter().filter(|it| it.required);
        named.flat_map(Look::problems).collect()
    }

    /// The credential for a repository.
    pub(crate) async fn find(&self, place: &RegistryLocation) -> Lookup {
        if let Some(credential) = self.inner.given.get(&place.host) {
            return Lookup::given(credential.clone());
        }
        let (looks, mut tried) = (self.look().await, Vec::new());
        for look in &looks {
            let why = match &look.document {
                Ok(Some(document)) => match document.find(place) {
                    Match::Credential(scope, credential) => {
                        return Lookup::found(credential.clone(), &scope.to_string(), &look.path);
                    }
                    Match::None(why) => why,
                },
                Ok(None) => Some("does not exist".to_owned()),
                Err(why) => Some(why.clone()),
            };
            tried.push((look.path.as_path(), why));
        }
        Lookup::none(&place.host, &tried)
    }

    async fn look(&self) -> Vec<Look> {
        let store = self.clone();
        let read = move || Ok(store.inner.files.iter().map(CredentialFile::look).collect());
        // The closure returns no error; the runtime may end meanwhile.
        let looks: Vec<Look> = file::apart(read).await.unwrap_or_default();
        self.log(&looks);
        looks
    }

    fn log(&self, looks: &[Look]) {
        let problems: BTreeSet<String> = looks.iter().flat_map(Look::problems).collect();
        let mut logged = self.inner.logged.lock();
        for problem in problems.difference(&logged) {
            warn!("{problem}");
        }
        *logged = problems;
    }
}

impl CredentialFile {
    fn look(&self) -> Look {
        let (path, required) = (self.path.clone(), self.required);
        let (document, open) = match read(&path) {
            Ok(Some((bytes, mode))) => (Document::parse(&bytes).map(Some), mode & 0o004 != 0),
            Ok(None) => (Ok(None), false),
            Err(error) => (Err(format!("could not be read: {error}")), false),
        };
        Look { path, required, document, open }
    }
}

impl Look {
    fn problems(&self) -> Vec<String> {
        let mut problems = match &self.document {
            Ok(Some(document)) => document.findings.clone(),
            Ok(None) if self.required => vec!["does not exist".to_owned()],
            Ok(None) => Vec::new(),
            Err(why) => vec![why.clone()],
        };
        let secret = matches!(&self.document, Ok(Some(it)) if it.has_credentials());
        if self.open && secret {
            problems.push("every user of this machine can read it; use `chmod 600`".to_owned());
        }
        let path = self.path.display();
        problems.iter().map(|it| format!("registry credentials in {path}: {it}")).collect()
    }
}

/// The content and the mode of a file; `None` if there is no such file.
fn read(path: &Path) -> io::Result<Option<(Vec<u8>, u32)>> {
    // A pipe of that name must not block.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    // One byte more shows that the file is too large.
    file.take(SIZE_LIMIT as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some((bytes, about.mode())))
}

#[cfg(test)]
mod tests;

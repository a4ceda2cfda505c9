//! The credential for a repository, and where it was looked for: what an
//! operator needs to know when a registry refuses.

use std::path::Path;

use colony_core::attempt::Failure;
use colony_core::code::Code;

use crate::config::Credential;

#[derive(Debug, Default)]
pub(crate) struct Lookup {
    credential: Option<Credential>,
    /// Why a registry may have refused, without any secret.
    reason: String,
}

impl Lookup {
    pub(super) fn given(credential: Credential) -> Lookup {
        let reason = "it does not accept the given user and password".to_owned();
        Lookup { credential: Some(credential), reason }
    }

    pub(super) fn found(credential: Credential, entry: &str, path: &Path) -> Lookup {
        let path = path.display();
        let reason = format!("it does not accept the credentials for `{entry}` in {path}");
        Lookup { credential: Some(credential), reason }
    }

    /// `tried` has the files, each with what is to say about it.
    pub(super) fn none(host: &str, tried: &[(&Path, Option<String>)]) -> Lookup {
        let file = |(path, note): &(&Path, Option<String>)| match note {
            Some(note) => format!("{} ({note})", path.display()),
            None => path.display().to_string(),
        };
        let files: Vec<String> = tried.iter().map(file).collect();
        let place = if files.is_empty() { "" } else { " in " };
        let reason = format!("there are no credentials for `{host}`{place}{}", files.join(", "));
        Lookup { credential: None, reason }
    }

    pub(crate) fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    /// Why the registry may have refused.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    /// Adds the reason to a failure that is a refusal of the registry.
    pub(crate) fn explained(&self, failure: Failure) -> Failure {
        if failure.code != Code::RegistryDenied || self.reason.is_empty() {
            return failure;
        }
        Failure { message: format!("{}; {}", failure.message, self.reason), ..failure }
    }
}

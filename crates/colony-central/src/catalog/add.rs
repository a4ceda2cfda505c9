//! Adds a registry: it is read first, and only stored if that succeeds.

use colony_core::event::CentralEvent;
use colony_git::Remote;
use colony_store::{Registry, Write};
use serde_json::json;

use super::registries::Registries;
use super::sync::{BRANCH, FINDINGS, folder};
use crate::brain::own_event;
use crate::clock;

/// The registry that an operator wants to add.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewRegistry<'a> {
    pub name: &'a str,
    pub url: &'a str,
    pub branch: Option<&'a str>,
}

impl NewRegistry<'_> {
    /// Adds the registry, or returns why it cannot be read; then nothing of it
    /// is kept.
    pub(crate) async fn add(
        self,
        registries: &Registries,
        by: &str,
    ) -> Result<Result<Registry, String>, colony_store::Error> {
        let _turn = registries.turn(self.name).await;
        let found = match registries.read(self.name, self.url, self.branch).await {
            Ok(found) => found,
            Err(error) => {
                // Errors are ignored: a leftover copy does no harm.
                let _ = tokio::fs::remove_dir_all(folder(&registries.data, self.name)).await;
                return Ok(Err(error));
            }
        };
        let registry = self.registry(found.revision.clone());
        let brain = &registries.brain;
        brain.write(|_| Ok::<_, colony_store::Error>(((), self.write(&registry, by)))).await?;
        // After a crash here, the next sync reads the packages.
        registries.take(self.name, found, registry.at).await?;
        Ok(Ok(registry))
    }

    fn registry(self, revision: String) -> Registry {
        let now = clock::wall();
        Registry {
            name: self.name.to_owned(),
            url: self.url.to_owned(),
            at: now,
            last_sync: Some(now),
            last_error: None,
            revision: Some(revision),
        }
    }

    fn write(self, registry: &Registry, by: &str) -> Write {
        let name = self.name;
        let url = Remote::new(self.url).shown();
        let event = CentralEvent::RegistryAdded { name: name.to_owned(), url };
        Write {
            registries_add: vec![registry.clone()],
            events: vec![own_event(&event, by, registry.at, (None, None))],
            notes: vec![
                (format!("{BRANCH}{name}"), json!(self.branch)),
                (format!("{FINDINGS}{name}"), json!([])),
            ],
            ..Write::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_has_the_password_of_a_registry() {
        let url = "https://bob:hunter2@git.test/apps.git";
        let fresh = NewRegistry { name: "apps", url, branch: None };

        let write = fresh.write(&fresh.registry("3f2a1c".to_owned()), "ana");

        let told = write.events[0].body.to_string();
        assert!(told.contains("https://git.test/apps.git") && !told.contains("hunter2"), "{told}");
        assert_eq!(write.registries_add[0].url, url, "it is still read with it");
    }
}

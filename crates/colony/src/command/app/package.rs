//! `colony app package` and `push`: from the folder of a package to an OCI
//! registry.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use colony_core::margo::Digest;
use colony_runtime::{
    Credential, CredentialStore, Registries, push_component, usual_credential_files,
};

use super::folder::{Package, read};
use crate::cli::{AppPackage, AppPush};
use crate::output::{Out, RenderOptions};

/// How long a password may be.
const PASSWORD_LIMIT: u64 = 4096;

/// An archive that was written or pushed.
#[derive(Debug, Serialize, Deserialize)]
struct PackedFile {
    component: String,
    /// A file, or a repository with its tag.
    place: String,
    /// The digest of the file, or of the manifest.
    digest: String,
    /// The registry already had it.
    existed: bool,
}

pub(super) fn package(args: &AppPackage, out: &mut Out) -> anyhow::Result<()> {
    let mut made = Vec::new();
    for Packed { name, revision, archive, .. } in packed(&args.folder)? {
        let path = args.folder.join(format!("{name}-{revision}.tar.gz"));
        let doing = || format!("could not write {}", path.display());
        std::fs::write(&path, &archive).with_context(doing)?;
        let (place, digest) = (path.display().to_string(), Digest::of(&archive).to_string());
        made.push(PackedFile { component: name, place, digest, existed: false });
    }
    out.show(&made, |it, look| lines(it, look))
}

pub(super) async fn push(args: &AppPush, out: &mut Out) -> anyhow::Result<()> {
    let mut made = Vec::new();
    let packed = packed(&args.folder)?;
    let registries = registries(args, &packed)?;
    for problem in registries.credentials.problems().await {
        out.note(&problem)?;
    }
    for it in &packed {
        let pushed = push_component(&registries, &it.repository, &it.revision, &it.archive).await?;
        made.push(PackedFile {
            component: it.name.clone(),
            place: format!("{}:{}", it.repository.reference(), it.revision),
            digest: pushed.digest.to_string(),
            existed: pushed.existed,
        });
    }
    out.show(&made, |it, look| lines(it, look))?;
    let folder = args.folder.display();
    out.note(&format!(
        "next: colony app add, with the folder or Git repository that holds {folder}"
    ))
}

/// `web: localhost:5000/camera:1.0.0, sha256:…`
fn lines(made: &[PackedFile], _: &RenderOptions) -> String {
    let line = |it: &PackedFile| {
        let existed = if it.existed { ", was there already" } else { "" };
        format!("{}: {}, {}{existed}\n", it.component, it.place, it.digest)
    };
    made.iter().map(line).collect()
}

/// A component that nodes can fetch.
struct Packed {
    name: String,
    repository: colony_core::margo::Repository,
    revision: colony_core::margo::Revision,
    archive: Vec<u8>,
}

fn packed(folder: &Path) -> anyhow::Result<Vec<Packed>> {
    let package = Package::open(folder)?;
    let components = package.components();
    ensure!(!components.is_empty(), "{} has no compose component", folder.display());
    let pack = |it: &super::folder::ComposeComponent<'_>| {
        let properties = &it.component.properties;
        Ok(Packed {
            name: it.component.name.to_string(),
            repository: properties.repository.clone(),
            revision: properties.revision.clone(),
            archive: it.archive(&package.parameters(it.component))?,
        })
    };
    components.iter().map(pack).collect()
}

fn registries(args: &AppPush, packed: &[Packed]) -> anyhow::Result<Registries> {
    let host =
        |it: &Packed| it.repository.reference().split('/').next().unwrap_or_default().to_owned();
    let hosts: BTreeSet<String> = packed.iter().map(host).collect();
    let mut credentials = CredentialStore::files(
        args.registry_credentials.clone(),
        usual_credential_files(|it| std::env::var_os(it)),
    );
    if let (Some(user), Some(file)) = (&args.user, &args.password_file) {
        let password = String::from_utf8(read(file, PASSWORD_LIMIT)?);
        let password = password.context("the password is not UTF-8")?.trim().to_owned();
        let credential = Credential::Password { user: user.clone(), password };
        ensure!(
            hosts.len() == 1,
            "the components are in several registries; one password goes to one of them only"
        );
        let all = hosts.iter().map(|it| (it.clone(), credential.clone()));
        credentials = CredentialStore::given(all.collect());
    }
    let insecure = if args.insecure { hosts } else { BTreeSet::new() };
    Ok(Registries { insecure, credentials })
}

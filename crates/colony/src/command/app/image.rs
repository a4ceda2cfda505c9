//! `colony app push-image`: the image of the application that comes with
//! colony, to a registry that a cluster can pull from.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use colony_runtime::{CredentialStore, Registries, push_image, usual_credential_files};

use crate::cli::AppPushImage;
use crate::output::{Out, RenderOptions};

/// An image that was pushed.
#[derive(Debug, Serialize, Deserialize)]
struct PushedImage {
    reference: String,
    /// The digest of the manifest.
    digest: String,
    /// The registry already had it.
    existed: bool,
}

pub(super) async fn push(args: &AppPushImage, out: &mut Out) -> anyhow::Result<()> {
    let reference = args.reference.as_str();
    let host = reference.split('/').next().unwrap_or_default().to_owned();
    let credentials = CredentialStore::files(
        args.registry_credentials.clone(),
        usual_credential_files(|it| std::env::var_os(it)),
    );
    for problem in credentials.problems().await {
        out.note(&problem)?;
    }
    let insecure = if args.insecure { BTreeSet::from([host]) } else { BTreeSet::new() };
    let registries = Registries { insecure, credentials };
    let image = colony_builtin::image();
    let blobs = image.blobs.each_ref().map(Vec::as_slice);
    let pushed = push_image(&registries, reference, &image.manifest, &blobs).await?;
    let view = PushedImage {
        reference: reference.to_owned(),
        digest: pushed.digest.to_string(),
        existed: pushed.existed,
    };
    out.show(&view, lines)?;
    out.note(&format!("next: colony deploy hello --set image={reference} --watch"))
}

/// `registry.example/hello:1.0, sha256:…`
fn lines(it: &PushedImage, _: &RenderOptions) -> String {
    let existed = if it.existed { ", was there already" } else { "" };
    format!("{}, {}{existed}\n", it.reference, it.digest)
}

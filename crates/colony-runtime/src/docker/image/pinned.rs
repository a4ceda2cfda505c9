//! Images that are named by their digest and were loaded.
//!
//! Engines note the digest of an image when they pull it, and offer no way to
//! note it for one that is loaded. It is kept under a tag made of the digest.

use crate::containers::api::Answer;
use crate::containers::image::Reference;
use crate::docker::api::Image;
use crate::docker::client::DockerClient;

/// The tag for an image named by its digest; none for another name.
pub(in crate::docker) fn tag(image: &str) -> Option<String> {
    let digest = image.split_once('@')?.1;
    let name = Reference::read(image).name;
    Some(format!("{name}:colony-{}", digest.replace(':', "-")))
}

impl DockerClient {
    /// The image with the name by which the engine knows it.
    pub(in crate::docker) async fn known(&self, image: &str) -> Answer<Option<(String, Image)>> {
        if let Some(found) = self.api.image(image).await? {
            return Ok(Some((image.to_owned(), found)));
        }
        let Some(tag) = tag(image) else { return Ok(None) };
        Ok(self.api.image(&tag).await?.map(|it| (tag, it)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_becomes_a_tag() {
        for (image, expected) in [
            ("r.example:5000/a", None),
            ("r.example:5000/a:1", None),
            ("r.example:5000/a@sha256:ff", Some("r.example:5000/a:colony-sha256-ff")),
            ("r.example:5000/a:1@sha256:ff", Some("r.example:5000/a:colony-sha256-ff")),
        ] {
            assert_eq!(tag(image).as_deref(), expected, "{image}");
        }
    }
}

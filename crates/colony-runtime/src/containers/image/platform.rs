//! Whether an image can run on the machine of the engine.
//!
//! Engines choose by platform only from a list of images: a single one for
//! another machine is pulled, and its program fails to start. A service that
//! names its `platform` is left to the engine, which may emulate it.

use colony_core::attempt::Failure;

use crate::compose::Service;
use crate::containers::api::Image;
use crate::containers::engine_error::EngineError;
use crate::oci::registry::oci_architecture;

/// `machine` is the engine's name of its architecture.
pub(super) fn check(image: &Image, service: &Service, machine: &str) -> Result<(), Failure> {
    let machine = oci_architecture(machine);
    if service.platform.is_some() || runs(image, machine) {
        return Ok(());
    }
    let Image { os, architecture, .. } = image;
    let message = format!("the image is for {os}/{architecture}, not for linux/{machine}");
    Err(EngineError::Unreadable(message).not_pulled(&service.image))
}

fn runs(image: &Image, machine: &str) -> bool {
    let architecture = oci_architecture(&image.architecture);
    // Processors that also run programs of their predecessors.
    let is_older = matches!((machine, architecture), ("amd64", "386") | ("arm64", "arm"));
    let fits_os = image.os.is_empty() || image.os == "linux";
    fits_os && (architecture.is_empty() || architecture == machine || is_older)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_for_the_machine_or_does_not_say() {
        refused("x86_64", "linux", "amd64", None);
        refused("x86_64", "linux", "386", None);
        refused("aarch64", "linux", "arm", None);
        refused("x86_64", "", "", None);
        let words = "the image is for linux/s390x, not for linux/amd64";
        refused("x86_64", "linux", "s390x", Some(words));
        let words = "the image is for linux/arm64, not for linux/arm";
        refused("armv7l", "linux", "arm64", Some(words));
        let words = "the image is for windows/amd64, not for linux/amd64";
        refused("x86_64", "windows", "amd64", Some(words));
    }

    #[track_caller]
    fn refused(machine: &str, os: &str, architecture: &str, words: Option<&str>) {
        let (os, architecture) = (os.to_owned(), architecture.to_owned());
        let image = Image { id: String::new(), os, architecture, check: None };
        let checked = check(&image, &Service::default(), machine);
        let message = checked.err().map(|it| it.message).unwrap_or_default();
        assert_eq!(message.is_empty(), words.is_none(), "{message}");
        assert!(message.ends_with(words.unwrap_or_default()), "{message}");
        let service = Service { platform: Some("linux/s390x".to_owned()), ..Service::default() };
        assert!(check(&image, &service, machine).is_ok());
    }
}

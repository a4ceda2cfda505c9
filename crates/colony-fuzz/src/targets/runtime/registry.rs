//! What registries answer, and how things there are named.

use colony_core::margo::Digest;
use colony_runtime::fuzz;

use crate::Outcome;

pub(super) fn manifest(input: &[u8]) -> Outcome {
    match fuzz::manifest(input, "amd64") {
        Err(error) => Outcome::refused(error),
        Ok((Err(archive), image)) => Outcome::refused(format!("{archive} {}", image.is_some())),
        Ok((Ok(_), image)) => Outcome::taken(image.is_some()),
    }
}

pub(super) fn challenge(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    if let Some(header) = fuzz::bearer(input) {
        assert!(header.starts_with("Bearer "));
    }
    match fuzz::challenge(&text) {
        None => Outcome::refused("none"),
        Some(values) => {
            let inside = values.iter().flatten().all(|it| text.contains(it.as_str()));
            assert!(inside, "{values:?} is not in the header");
            Outcome::taken(
                values.map(|it| if it.is_some() { 'x' } else { '-' }).iter().collect::<String>(),
            )
        }
    }
}

pub(super) fn reference(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let (name, version) = fuzz::reference(&text);
    assert!(text.starts_with(name) && !name.contains('@'), "{name:?} of {text:?}");
    assert!(text.ends_with(version) || text.contains('@') || version == "latest", "{version:?}");
    let place = fuzz::place(name);
    if let Some((host, rest)) = &place {
        assert_eq!(format!("{host}/{rest}"), name);
        let segments = rest.split('/').chain([host.as_str()]);
        for segment in segments {
            assert!(!matches!(segment, "" | "." | ".."), "{name:?} leads elsewhere");
            assert!(!segment.contains(['?', '#', '%', '@', ' ']), "{name:?} is more than a path");
        }
    }
    Outcome::taken(format!("{} {}", place.is_some(), version == "latest"))
}

/// A configuration, a line, and a layer.
pub(super) fn image(input: &[u8]) -> Outcome {
    let at = input.iter().position(|it| *it == b'\n').unwrap_or(input.len());
    let (config, layer) = input.split_at(at);
    let layer = layer.get(1..).unwrap_or_default().to_vec();
    let good = format!("{{\"rootfs\":{{\"diff_ids\":[\"{}\"]}}}}", Digest::of(&layer));
    if !layer.starts_with(&[0x1f, 0x8b]) {
        fuzz::image(good.as_bytes(), std::slice::from_ref(&layer)).expect("a good image is packed");
    }
    match fuzz::image(config, &[layer]) {
        Err(error) => Outcome::refused(error),
        Ok(tar) => Outcome::taken(tar.len() > 4096),
    }
}

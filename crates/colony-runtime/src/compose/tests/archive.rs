//! Requirements of archives.

use super::Item::{Fifo, File, Folder, Hardlink, Symlink};
use super::*;
use crate::compose::Limits;

const GOOD: Item<'_> = File("app/compose.yaml", "services: {web: {image: x}}");

#[test]
fn one_directory_with_a_compose_file_is_an_archive() {
    accepted(&[GOOD], "compose.yaml");
    accepted(&[Folder("./"), Folder("./app"), File("./app/compose.yaml", "")], "compose.yaml");
    accepted(&[GOOD, File("app/a/b.env", "")], "a/b.env compose.yaml");
    accepted(&[GOOD, Folder("app/empty/")], "compose.yaml");
}

#[test]
fn anything_but_one_directory_is_refused() {
    refused(&[], "archive is empty; expected one directory that holds `compose.yaml`");
    refused(
        &[GOOD, File("other/x", "")],
        "other: is a second directory at the root; expected exactly one",
    );
    refused(
        &[File("compose.yaml", "")],
        "compose.yaml: stands at the root of the archive; expected a path below the archive's one directory",
    );
}

#[test]
fn the_compose_file_has_one_name() {
    let expected = "a file named exactly `compose.yaml` in the archive's directory";
    refused(&[Folder("app/")], &format!("compose.yaml: is missing; expected {expected}"));
    for name in ["compose.yml", "docker-compose.yaml", "docker-compose.yml", "Compose.yaml"] {
        let message = format!("{name}: is not a name of a compose file; expected {expected}");
        refused(&[File(&format!("app/{name}"), "")], &message);
    }
    refused(
        &[File("app/sub/compose.yaml", "")],
        &format!("compose.yaml: is missing; expected {expected}"),
    );
}

#[test]
fn entries_that_lead_elsewhere_are_refused_together() {
    let below = "a path below the archive's one directory";
    refused(
        &[
            GOOD,
            File("/etc/passwd", ""),
            File("app/../../x", ""),
            Symlink("app/a", "/etc/passwd"),
            Symlink("app/b", "../../x"),
            Symlink("app/c", "../other/x"),
            Hardlink("app/d", "other/x"),
            Fifo("app/e"),
            GOOD,
        ],
        &format!(
            "/etc/passwd: is an absolute path; expected {below}|\
             app/../../x: goes up with `..`; expected {below}|\
             app/a: links to `/etc/passwd`; expected {below}|\
             app/b: links to `../../x`; expected {below}|\
             app/c: links to `../other/x`; expected {below}|\
             app/compose.yaml: is in the archive twice; expected each file once|\
             app/d: links to `other/x`; expected {below}|\
             app/e: is not a file, folder or link; expected plain files"
        ),
    );
    refused(
        &[GOOD, File("app/a\\b", "")],
        "app/a\\\\b: is not a usable name; expected a path of UTF-8 text without control characters",
    );
}

#[test]
fn links_inside_are_followed() {
    let bytes = pack(&[
        File("app/real/compose.yaml", "services: {web: {image: x, env_file: e}}"),
        Symlink("app/now", "real"),
        Symlink("app/compose.yaml", "./now/compose.yaml"),
        Symlink("app/e", "real/../f"),
        Hardlink("app/f", "app/real/env"),
        File("app/real/env", "A=1"),
    ]);
    let archive = Archive::unpack(&bytes).expect("links inside are right");
    let project = archive.project(&BTreeMap::new()).expect("the file is found");
    assert_eq!(project.services["web"].environment["A"], "1");
}

#[test]
fn links_in_a_circle_lead_nowhere() {
    refused(
        &[Symlink("app/compose.yaml", "b"), Symlink("app/b", "compose.yaml")],
        "compose.yaml: is not a name of a compose file; expected a file named exactly `compose.yaml` in the archive's directory",
    );
}

#[test]
fn limits_hold() {
    let zeros = "\0".repeat(1 << 20);
    let bomb: Vec<Item<'_>> = std::iter::repeat_n(File("app/zeros", &zeros), 3).collect();
    check(
        &bomb,
        "archive unpacks to more than 1048576 bytes; expected at most 16777216 bytes, 100 for each sent",
    );
    let many = vec![GOOD; 1_001];
    let found = unpack(&many).expect_err("too many entries");
    assert!(found.contains("archive has too many entries; expected at most 1000"), "{found}");
    let noise = noise((1 << 20) + 1);
    check(
        &[GOOD, File("app/large", &noise)],
        "app/large: is too large; expected at most 1048576 bytes",
    );
    let small = Limits { compressed: 10, ..Limits::default() };
    assert!(Archive::unpack_within(&pack(&[GOOD]), &small).is_err());
}

#[test]
fn limits_are_reached_and_not_passed() {
    let bytes = pack(&[GOOD, File("app/ten", "0123456789")]);
    let length = std::io::Read::bytes(flate2::read::GzDecoder::new(bytes.as_slice())).count();
    let whole = Limits { compressed: bytes.len(), total: length, ..Limits::default() };
    for (limits, taken) in [
        (whole.clone(), true),
        (Limits { compressed: bytes.len() - 1, ..whole.clone() }, false),
        (Limits { total: length - 1, ..whole.clone() }, false),
    ] {
        assert_eq!(Archive::unpack_within(&bytes, &limits).is_ok(), taken, "{limits:?}");
    }
    let noise = noise(1 << 20);
    accepted(&[GOOD, File("app/large", &noise)], "compose.yaml large");
}

#[test]
fn broken_bytes_are_refused() {
    let whole = pack(&[GOOD]);
    for bytes in [&b""[..], b"PK\x03\x04", &whole[..whole.len() / 2], &whole[..whole.len() - 4]] {
        assert!(Archive::unpack(bytes).is_err(), "{bytes:?}");
    }
    assert!(Archive::unpack(&gzip(b"no tar")).is_err());
}

#[track_caller]
fn accepted(items: &[Item<'_>], expected: &str) {
    let archive = Archive::unpack(&pack(items)).expect("the archive is right");
    let names: Vec<&str> = archive.files().map(|it| it.0).collect();
    assert_eq!(names.join(" "), expected);
}

#[track_caller]
fn refused(items: &[Item<'_>], expected: &str) {
    check(items, expected);
}

#[track_caller]
fn check(items: &[Item<'_>], expected: &str) {
    assert_eq!(unpack(items).expect_err("the archive is refused"), expected);
}

fn unpack(items: &[Item<'_>]) -> Result<Archive, String> {
    Archive::unpack(&pack(items))
        .map_err(|found| found.iter().map(ToString::to_string).collect::<Vec<_>>().join("|"))
}

/// Text that does not get much smaller when packed.
fn noise(length: usize) -> String {
    let mut state = 1u32;
    let next = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b' ' + (state >> 24) as u8 % 90)
    });
    next.take(length).collect()
}

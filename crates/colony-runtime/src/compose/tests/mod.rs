//! Tests of archives and compose files, and of the findings about bad ones.

mod archive;
mod device;
mod file;
mod interpolation;
mod random;
mod refused;
mod selection;

use std::collections::BTreeMap;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value as Json;

use super::{Archive, Project};

/// A tar entry: a name with a content, or a link with its target.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    File(&'a str, &'a str),
    Folder(&'a str),
    Symlink(&'a str, &'a str),
    Hardlink(&'a str, &'a str),
    Fifo(&'a str),
}

/// A gzip tar with these entries, named exactly so.
fn pack(items: &[Item<'_>]) -> Vec<u8> {
    let mut tar = Vec::new();
    for item in items {
        let (kind, name, content, link) = match *item {
            Item::File(name, content) => (tar::EntryType::Regular, name, content, ""),
            Item::Folder(name) => (tar::EntryType::Directory, name, "", ""),
            Item::Symlink(name, link) => (tar::EntryType::Symlink, name, "", link),
            Item::Hardlink(name, link) => (tar::EntryType::Link, name, "", link),
            Item::Fifo(name) => (tar::EntryType::Fifo, name, "", ""),
        };
        append(&mut tar, kind, name, content, link);
    }
    tar.extend([0; 1024]);
    gzip(&tar)
}

/// Writes a header by hand: the library refuses the names these tests are about.
fn append(tar: &mut Vec<u8>, kind: tar::EntryType, name: &str, content: &str, link: &str) {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    header.set_mode(0o4755);
    let bytes = header.as_mut_bytes();
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header.set_cksum();
    tar.extend(header.as_bytes());
    tar.extend(content.as_bytes());
    tar.resize(tar.len().next_multiple_of(512), 0);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    std::io::Write::write_all(&mut encoder, bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

/// An archive with this compose file and a few files it may refer to.
fn archive(compose: &str) -> Archive {
    let bytes = pack(&[
        Item::Folder("app/"),
        Item::File("app/compose.yaml", compose),
        Item::File("app/app.env", "FROM_FILE=file\nBOTH=file\nMODE=file\nASKED\n"),
        Item::File("app/conf/site.conf", "listen $PORT;\n"),
        Item::File("app/bad.env", "A=1\nB C\n"),
    ]);
    Archive::unpack(&bytes).expect("the archive is right")
}

fn parameters() -> BTreeMap<String, String> {
    let pairs = [("MODE", "fast"), ("PORT", "8080"), ("YES", "true"), ("EMPTY", "")];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

#[track_caller]
fn project(compose: &str) -> Project {
    match archive(compose).project(&parameters()) {
        Ok(project) => project,
        Err(findings) => panic!("{compose}\nis refused: {findings:#?}"),
    }
}

/// The findings of a file, one per line.
#[track_caller]
fn findings(compose: &str) -> String {
    let found = archive(compose).project(&parameters());
    let found = found.expect_err("the file is refused");
    found.iter().map(|it| format!("{it}\n")).collect()
}

fn json(value: impl serde::Serialize) -> Json {
    serde_json::to_value(value).expect("a project is JSON")
}

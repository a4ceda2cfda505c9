//! Compose files and env files, inside a good archive.

use std::collections::BTreeMap;

use colony_core::margo::Finding;
use colony_runtime::compose::{Archive, Project};
use tar::{Builder, EntryType, Header};

use crate::targets::margo::tar_of;
use crate::{Outcome, hold};

const ENV_USER: &[u8] = b"services:\n  web:\n    image: busybox:1\n    env_file: [app.env]\n";
const CONF: &[u8] = b"level = 1\n";

pub(super) fn compose(input: &[u8]) -> Outcome {
    let files = [("compose.yaml", input), ("app.env", b"A=1\n"), ("conf/app.toml", CONF)];
    project(&files, input, "compose.yaml")
}

pub(super) fn env_file(input: &[u8]) -> Outcome {
    project(&[("compose.yaml", ENV_USER), ("app.env", input)], input, "app.env")
}

fn project(files: &[(&str, &[u8])], input: &[u8], name: &str) -> Outcome {
    let archive = match Archive::unpack(&packed(files)) {
        Ok(archive) => archive,
        Err(found) => return Outcome::found(&found),
    };
    let parameters =
        BTreeMap::from([("A".to_owned(), "one".to_owned()), ("B".to_owned(), String::new())]);
    match archive.parse(&parameters) {
        Err(found) => {
            hold::refusal(input, &of(&found, name));
            Outcome::found(&found)
        }
        Ok(read) => {
            hold::findings(input, &of(&read.warnings, name));
            let again = archive.project(&parameters).expect("it was read");
            hold::same(&again, &read.value, "the same archive");
            useful(&read.value);
            Outcome::taken(shape(&read.value))
        }
    }
}

/// The findings of this file, as findings of its text.
fn of(findings: &[Finding], name: &str) -> Vec<Finding> {
    let bare = |it: &Finding| match it.file.as_deref() {
        Some(file) if file == name => Finding { file: None, ..it.clone() },
        Some(_) | None => Finding { file: Some(name.to_owned()), ..it.clone() },
    };
    findings.iter().map(bare).collect()
}

/// What the engine is handed has what an engine needs.
fn useful(project: &Project) {
    assert!(!project.services.is_empty(), "a project of nothing");
    for (name, service) in &project.services {
        assert!(!name.is_empty() && !service.image.is_empty(), "{name} has no image");
        let text = format!("{service:?}");
        assert!(!text.contains('\0'), "{name} has a NUL, which no engine takes");
    }
}

/// Which fields are set, without their values.
fn shape(project: &Project) -> String {
    let text = format!("{project:?}");
    let bare: String = text.split('"').step_by(2).collect();
    bare.split("None").count().to_string()
        + &bare.chars().filter(char::is_ascii_uppercase).take(120).collect::<String>()
}

fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, format!("app/{name}"), *bytes).expect("memory");
    }
    tar_of(&tar.into_inner().expect("memory"))
}

//! A file of the corpus.

use std::path::PathBuf;

#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// `IMAGE` stands for the image.
    pub(crate) text: String,
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Created,
    Started,
    Gated,
    /// By the engine of these tests.
    Refused,
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/compose-corpus"))
}

/// The files that lie beside each compose file.
pub(crate) const FILES: [&str; 4] = ["app.env", "conf/raw.env", "conf/site.conf", "conf/password"];

pub(crate) fn file(name: &str) -> String {
    std::fs::read_to_string(folder().join("files").join(name)).unwrap()
}

impl Case {
    pub(crate) fn all() -> Vec<Case> {
        let files = std::fs::read_dir(folder()).unwrap().map(|it| it.unwrap().path());
        let files = files.filter(|it| it.extension().is_some_and(|it| it == "yaml"));
        let mut cases: Vec<Case> = files.map(|it| Case::read(&it)).collect();
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        cases
    }

    fn read(path: &std::path::Path) -> Case {
        let text = std::fs::read_to_string(path).unwrap();
        let comments: Vec<&str> =
            text.lines().take_while(|it| it.starts_with('#')).map(|it| &it[2..]).collect();
        let has = |it: &str| comments.contains(&it);
        let mode = match () {
            () if has("started") => Mode::Started,
            () if has("gated") => Mode::Gated,
            () if has("refused by the engine") => Mode::Refused,
            () => Mode::Created,
        };
        let parameters = comments.iter().find_map(|it| it.strip_prefix("parameters: "));
        let pairs = parameters.unwrap_or_default().split_whitespace();
        let pairs = pairs.map(|it| it.split_once('=').unwrap());
        Case {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            parameters: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            // Runs of this test at once must not have one subnet.
            text: text.replace("10.213.", &format!("10.{}.", 150 + std::process::id() % 100)),
            mode,
        }
    }
}

//! The arguments of the program.

use colony_fuzz::{Target, all, find};

pub(crate) struct Arguments {
    pub(crate) runs: u64,
    pub(crate) seed: u64,
    /// One file to run instead of a corpus.
    pub(crate) input: Option<String>,
    pub(crate) targets: Vec<Target>,
}

impl Arguments {
    pub(crate) fn read(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut words = words;
        let mut read = Arguments { runs: 20_000, seed: 7, input: None, targets: Vec::new() };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--runs" => read.runs = number(words.next())?,
                "--seed" => read.seed = number(words.next())?,
                "--input" => read.input = Some(words.next().ok_or("--input needs a file")?),
                name => read.targets.push(target(name)?),
            }
        }
        if read.targets.is_empty() {
            read.targets = all();
        }
        match (&read.input, read.targets.len()) {
            (Some(_), 2..) => Err("--input needs the one target it is for".to_owned()),
            _ => Ok(read),
        }
    }
}

fn number(word: Option<String>) -> Result<u64, String> {
    let word = word.unwrap_or_default();
    word.parse().map_err(|_| format!("`{word}` is not a number"))
}

fn target(name: &str) -> Result<Target, String> {
    let known = || all().iter().map(|it| it.name).collect::<Vec<_>>().join(", ");
    find(name).ok_or_else(|| format!("`{name}` is not a target; there are {}", known()))
}

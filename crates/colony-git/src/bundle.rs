//! The hosted repository as one file: git's own bundles.
//!
//! A bundle is consistent while the repository is written to: it is made from
//! one commit and all objects that commit reaches.

use std::path::Path;

use crate::error::Error;
use crate::writer::hosted::{BRANCH, CONFIG};
use crate::{git, repo};

/// Writes everything the branch of the repository in `dir` reaches to `file`.
pub fn save(dir: &Path, file: &Path) -> Result<(), Error> {
    let mut command = git::command(dir, &[]);
    command.args(["bundle", "create", "--quiet"]).arg(file).arg(BRANCH);
    done(command, "save the repository")
}

/// Creates a repository in `dir`, which must not exist, from a bundle that
/// `save` wrote.
pub fn restore(dir: &Path, file: &Path) -> Result<(), Error> {
    repo::ensure(dir, BRANCH, CONFIG)?;
    let mut command = git::command(dir, &[]);
    let spec = format!("+{BRANCH}:{BRANCH}");
    command.args(["fetch", "--quiet", "--update-head-ok"]).arg(file).arg(spec);
    done(command, "restore the repository")
}

fn done(command: std::process::Command, doing: &'static str) -> Result<(), Error> {
    let output = git::run(command, doing)?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Git { doing, problem: git::output_text(&output.stderr) })
}

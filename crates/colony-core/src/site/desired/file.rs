//! The site's part of the Git repository: its files and their content.

use std::sync::Arc;

use colony_margo::{Finding, Severity};

use crate::document::Document;
use crate::id::{BlobId, DeploymentId, DeploymentName, GitRevision, SiteName};
use crate::purge;
use crate::site::SiteSettings;

/// The site's part of a commit.
#[derive(Debug, Clone)]
pub struct Commit {
    pub revision: GitRevision,
    /// The commit that `files` is the difference to; `None` if it lists all
    /// files.
    pub base: Option<GitRevision>,
    /// The commit does not descend from the previous one.
    pub rewritten: bool,
    pub files: Vec<File>,
}

/// One file of the site's part.
#[derive(Debug, Clone)]
pub struct File {
    pub path: String,
    pub content: Content,
}

#[derive(Debug, Clone)]
pub enum Content {
    Deployment(Arc<Document>),
    Site(SiteSettings),
    Refused(Vec<Finding>),
    /// The volumes of this deployment are removed with it.
    Purge(DeploymentId),
    Gone,
}

impl File {
    /// Reads `deployments/<site>/<name>.yaml`, the mark of a purge beside it, or
    /// `sites/<site>.yaml`.
    pub fn read(site: &SiteName, path: &str, blob: &BlobId, text: &[u8]) -> File {
        if let Some(id) = purge::marked(site, path) {
            return File { path: path.to_owned(), content: Content::Purge(id) };
        }
        let content = if path == site_path(site) {
            SiteSettings::parse(text).map(Content::Site)
        } else {
            read_deployment(site, path, blob, text)
        };
        let named = |it: Vec<Finding>| it.into_iter().map(|it| it.in_file(path)).collect();
        let content = content.unwrap_or_else(|it| {
            let mut findings: Vec<Finding> = named(it);
            // Errors first: the first finding is shown, and a warning is never
            // the reason for a refusal.
            findings.sort_by_key(|it| it.severity);
            Content::Refused(findings)
        });
        File { path: path.to_owned(), content }
    }

    pub fn removed(path: &str) -> File {
        File { path: path.to_owned(), content: Content::Gone }
    }
}

fn read_deployment(
    site: &SiteName,
    path: &str,
    blob: &BlobId,
    text: &[u8],
) -> Result<Content, Vec<Finding>> {
    let name = deployment_name(site, path).map_err(|it| vec![it])?;
    let document = Document::parse(site, &name, blob, text)?;
    Ok(Content::Deployment(Arc::new(document)))
}

/// The path of a deployment's file.
pub fn deployment_path(site: &SiteName, name: &DeploymentName) -> String {
    format!("deployments/{site}/{}", deployment_file(name))
}

/// The name of a deployment's file in the folder of its site.
pub fn deployment_file(name: &DeploymentName) -> String {
    format!("{name}.yaml")
}

pub(in crate::site) fn site_path(site: &SiteName) -> String {
    format!("sites/{site}.yaml")
}

pub(crate) fn deployment_name(site: &SiteName, path: &str) -> Result<DeploymentName, Finding> {
    let expected = format!("deployments/{site}/<name>.yaml");
    let stem =
        path.strip_prefix(&format!("deployments/{site}/")).and_then(|it| it.strip_suffix(".yaml"));
    let problem = match stem.map(str::parse::<DeploymentName>) {
        Some(Ok(name)) => return Ok(name),
        Some(Err(error)) => error.to_string(),
        None => "the path is not that of a deployment".to_owned(),
    };
    Err(finding(problem, expected))
}

pub(in crate::site) fn finding(problem: String, expected: String) -> Finding {
    let (file, path) = (None, String::new());
    Finding { file, line: 1, column: 1, path, severity: Severity::Error, problem, expected }
}

//! The catalog entry of an application.

use serde::Serialize;

use crate::yaml::Cursor;

/// The head of a description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metadata {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The tag of the package in its registry; not always SemVer.
    pub version: String,
    pub catalog: Catalog,
}

/// The entry of the application in a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Catalog {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub author: Vec<Author>,
    pub organization: Vec<Organization>,
}

/// The entry about the application itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_notes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tagline: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// The author of the application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Author {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// The publisher of the application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Organization {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
}

impl Metadata {
    pub(super) fn read(cursor: &Cursor<'_>) -> Option<Metadata> {
        cursor.unknown_keys(&["name", "description", "version", "catalog"]);
        let name = cursor.required("name").and_then(|it| it.some_string());
        let description = cursor.field("description").and_then(|it| it.string());
        let version = cursor.required("version").and_then(|it| it.some_string());
        let catalog = cursor.required("catalog").and_then(|it| Catalog::read(&it));
        Some(Metadata { name: name?, description, version: version?, catalog: catalog? })
    }
}

impl Catalog {
    fn read(cursor: &Cursor<'_>) -> Option<Catalog> {
        cursor.unknown_keys(&["application", "author", "organization"]);
        let application = cursor.field("application").map(|it| ApplicationEntry::read(&it));
        let author = cursor.field("author").and_then(|it| it.each(Author::read));
        let organization = cursor.required("organization");
        let organization = organization.and_then(|it| it.some_each(Organization::read));
        let author = author.unwrap_or_default();
        Some(Catalog { application, author, organization: organization? })
    }
}

impl ApplicationEntry {
    fn read(cursor: &Cursor<'_>) -> ApplicationEntry {
        cursor.unknown_keys(&[
            "descriptionFile",
            "icon",
            "licenseFile",
            "releaseNotes",
            "site",
            "tagline",
            "tags",
        ]);
        let text = |name| cursor.field(name).and_then(|it| it.string());
        let tags = cursor.field("tags").and_then(|it| it.each(Cursor::string));
        ApplicationEntry {
            description_file: text("descriptionFile"),
            icon: text("icon"),
            license_file: text("licenseFile"),
            release_notes: text("releaseNotes"),
            site: text("site"),
            tagline: text("tagline"),
            tags: tags.unwrap_or_default(),
        }
    }
}

impl Author {
    fn read(cursor: &Cursor<'_>) -> Option<Author> {
        cursor.unknown_keys(&["name", "email"]);
        let name = cursor.field("name").and_then(|it| it.string());
        let email = cursor.field("email").and_then(|it| read_email(&it));
        Some(Author { name, email })
    }
}

impl Organization {
    fn read(cursor: &Cursor<'_>) -> Option<Organization> {
        cursor.unknown_keys(&["name", "site"]);
        let name = cursor.required("name").and_then(|it| it.some_string());
        let site = cursor.field("site").and_then(|it| it.string());
        Some(Organization { name: name?, site })
    }
}

/// The specification's pattern: anything, `@`, and the characters of a domain.
fn read_email(cursor: &Cursor<'_>) -> Option<String> {
    let email = cursor.string()?;
    let domain = |it: &str| {
        it.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c))
    };
    if !email.rsplit_once('@').is_some_and(|(_, it)| domain(it)) {
        let expected = "an address such as `name@example.com`, the domain in lower case";
        cursor.error(format!("`{email}` is not an e-mail address"), expected);
        return None;
    }
    Some(email)
}

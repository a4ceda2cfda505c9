//! Error codes for messages of engines and registries: they report most causes
//! as text only.

use colony_core::code::Code;

/// The code of a message about creating or starting a container.
pub(crate) fn of_start(message: &str) -> Option<Code> {
    find(MADE, message)
}

/// The code of a message about fetching an image.
pub(crate) fn of_pull(message: &str) -> Option<Code> {
    find(PULLED, message)
}

fn find(table: &[(&str, Code)], message: &str) -> Option<Code> {
    let message = message.to_lowercase();
    let found = ALWAYS.iter().chain(table).find(|it| message.contains(it.0));
    found.map(|it| it.1.clone())
}

const ALWAYS: &[(&str, Code)] =
    &[("no space left on device", Code::DiskFull), ("disk quota exceeded", Code::DiskFull)];

/// Messages about creating and starting.
const MADE: &[(&str, Code)] = &[
    ("port is already allocated", Code::PortInUse),
    ("address already in use", Code::PortInUse),
    ("ports are not available", Code::PortInUse),
    ("no such image", Code::ImageMissing),
    ("image not known", Code::ImageMissing),
    ("executable file not found", Code::InvalidConfig),
    ("exec format error", Code::InvalidConfig),
    ("exec: permission denied", Code::InvalidConfig),
    ("no such file or directory: unknown", Code::InvalidConfig),
    ("oci runtime attempted to invoke a command that was not found", Code::InvalidConfig),
    ("statfs ", Code::InvalidConfig),
    ("unable to find user", Code::InvalidConfig),
    ("no matching entries in passwd file", Code::InvalidConfig),
    ("network not found", Code::InvalidConfig),
    ("unable to find network", Code::InvalidConfig),
    ("invalid reference format", Code::InvalidConfig),
];

/// Messages about fetching; the first match counts.
const PULLED: &[(&str, Code)] = &[
    ("manifest unknown", Code::ImageMissing),
    ("name unknown", Code::ImageMissing),
    ("repository name not known", Code::ImageMissing),
    ("no matching manifest", Code::ImageMissing),
    ("no image found in manifest list", Code::ImageMissing),
    ("no image found in image index", Code::ImageMissing),
    ("invalid reference format", Code::InvalidConfig),
    ("unauthorized", Code::RegistryDenied),
    ("authentication required", Code::RegistryDenied),
    ("pull access denied", Code::RegistryDenied),
    ("access to the resource is denied", Code::RegistryDenied),
    ("no basic auth credentials", Code::RegistryDenied),
    ("forbidden", Code::RegistryDenied),
    ("unable to retrieve auth token", Code::RegistryDenied),
    ("connection refused", Code::RegistryUnavailable),
    ("no such host", Code::RegistryUnavailable),
    ("no route to host", Code::RegistryUnavailable),
    ("network is unreachable", Code::RegistryUnavailable),
    ("connection reset", Code::RegistryUnavailable),
    ("server misbehaving", Code::RegistryUnavailable),
    ("temporary failure in name resolution", Code::RegistryUnavailable),
    ("http response to https client", Code::RegistryUnavailable),
    ("x509", Code::RegistryUnavailable),
    ("tls:", Code::RegistryUnavailable),
    ("toomanyrequests", Code::RegistryUnavailable),
    ("service unavailable", Code::RegistryUnavailable),
    ("internal server error", Code::RegistryUnavailable),
    ("bad gateway", Code::RegistryUnavailable),
    ("gateway timeout", Code::RegistryUnavailable),
    ("unexpected http status: 5", Code::RegistryUnavailable),
    ("unexpected eof", Code::RegistryUnavailable),
    ("deadline exceeded", Code::PullTimeout),
    ("i/o timeout", Code::PullTimeout),
    ("timeout", Code::PullTimeout),
    ("not found", Code::ImageMissing),
];

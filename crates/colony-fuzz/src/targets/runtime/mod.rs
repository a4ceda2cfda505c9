//! Readers of `colony-runtime`: components, compose files, answers of registries.

mod archive;
mod compose;
mod engine;
mod label;
mod registry;

use crate::Shape::{Bytes, Json, Text, Yaml};
use crate::Target;

pub(super) const TARGETS: &[Target] = &[
    Target::new("runtime_archive", Bytes, TAR, archive::archive).holding(96),
    Target::new("runtime_compose", Yaml, COMPOSE, compose::compose).holding(96),
    Target::new("runtime_env_file", Text, ENV, compose::env_file),
    Target::new("runtime_registry", Json, OCI, registry::manifest),
    Target::new("runtime_challenge", Text, CHALLENGE, registry::challenge),
    Target::new("runtime_reference", Text, REFERENCE, registry::reference),
    Target::new("runtime_image", Bytes, IMAGE, registry::image),
    Target::new("runtime_engine", Json, ENGINE, engine::engine),
    Target::new("runtime_labels", Json, LABELS, label::labels),
];

const TAR: &[&str] = &[
    "app/",
    "compose.yaml",
    "../",
    "/",
    "./",
    "ustar",
    "\0",
    "00000000",
    "77777777777",
    "5",
    "2",
    "1",
    "x",
    "g",
    "L",
    "docker-compose.yml",
    "services:\n",
];
const COMPOSE: &[&str] = &[
    "services",
    "image",
    "command",
    "entrypoint",
    "environment",
    "env_file",
    "ports",
    "expose",
    "volumes",
    "networks",
    "configs",
    "depends_on",
    "healthcheck",
    "deploy",
    "restart",
    "network_mode",
    "host",
    "cap_add",
    "devices",
    "tmpfs",
    "labels",
    "x-a",
    "<<",
    "${A}",
    "${A:-b}",
    "${A:?c}",
    "$$",
    "${",
    "8080:80",
    "127.0.0.1:1-65535:1-65535/udp",
    "[::1]:1:1",
    "1g",
    "0.5",
    "10s",
    "CMD-SHELL",
    "service_healthy",
    "./a:/b:ro",
    "unless-stopped",
    "999999999999999999999g",
    "&a",
    "*a",
];
const ENV: &[&str] =
    &["A=", "export ", "'", "\"", "${A}", "$B", "\\n", "#", "=", "\r\n", "${A:-", "}"];
const OCI: &[&str] = &[
    "artifactType",
    "config",
    "layers",
    "manifests",
    "mediaType",
    "digest",
    "size",
    "platform",
    "architecture",
    "os",
    "linux",
    "amd64",
    "application/vnd.org.margo.component.compose+json",
    "application/vnd.org.margo.component.compose.tar+gzip",
];
const CHALLENGE: &[&str] =
    &["Bearer ", "Basic ", "realm=", "service=", "scope=", "\"", ",", "=", "https://"];
const REFERENCE: &[&str] =
    &[":", "@", "/", "sha256:", "..", "latest", "localhost:5000", "[::1]:5000", "colony.builtin"];
const IMAGE: &[&str] = &["rootfs", "diff_ids", "sha256:", "[", "]", "{", "}", "\u{1f}\u{8b}"];
const ENGINE: &[&str] = &[
    "Id",
    "Labels",
    "State",
    "Status",
    "running",
    "exited",
    "stopped",
    "created",
    "ExitCode",
    "StartedAt",
    "Health",
    "Log",
    "Output",
    "Config",
    "Healthcheck",
    "Test",
    "CMD",
    "CMD-SHELL",
    "NONE",
    "Interval",
    "Retries",
    "18446744073709551615",
    "NCPU",
    "MemTotal",
    "Components",
    "Name",
    "Podman Engine",
    "Version",
    "message",
    "manifest unknown",
    "port is already allocated",
    "no such container",
    "no space left on device",
    "deadline exceeded",
    "\r\u{1b}[2J",
];
const LABELS: &[&str] = &[
    "colony.node",
    "colony.deployment",
    "colony.component",
    "colony.fingerprint",
    "colony.service",
    "colony.order",
    "colony.grace",
    "colony.health",
    "18446744073709551615",
    "CMD",
    "CMD-SHELL",
    "NONE",
];

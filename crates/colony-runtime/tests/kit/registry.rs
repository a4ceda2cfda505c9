//! A real `docker-registry`, and how a test puts things there.

use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;

use colony_core::margo::Digest;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::http;
use super::image;
use super::program::{Program, find};

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

#[derive(Debug)]
pub(crate) struct Registry {
    /// The address with the port.
    pub(crate) host: String,
    /// None for one that was started elsewhere.
    program: Option<(Program, TempDir)>,
}

impl Registry {
    pub(crate) fn start() -> Registry {
        Registry::start_on(Ipv4Addr::LOCALHOST.into())
    }

    /// One that engines use with TLS only, since it is not on a loopback
    /// address. It has none.
    pub(crate) fn start_without_tls() -> Registry {
        // No packet is sent: this only asks for the machine's own address.
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.connect("192.0.2.1:9").expect("this machine has a default route");
        Registry::start_on(socket.local_addr().unwrap().ip())
    }

    fn start_on(address: IpAddr) -> Registry {
        let dir = tempfile::tempdir().unwrap();
        let port = TcpListener::bind((address, 0)).unwrap().local_addr().unwrap().port();
        let host = format!("{address}:{port}");
        let config = dir.path().join("config.yml");
        let data = dir.path().join("data");
        let text = format!(
            "version: 0.1\nlog: {{ level: error }}\nstorage:\n  delete: {{ enabled: true }}\n  \
             filesystem: {{ rootdirectory: {} }}\nhttp: {{ addr: \"{host}\" }}\n",
            data.display(),
        );
        std::fs::write(&config, text).unwrap();
        let arguments = ["serve", config.to_str().unwrap()];
        let log = dir.path().join("registry.log");
        let mut program = Program::start("docker-registry", &arguments, &[], &log);
        program.await_ready(|| TcpStream::connect(&host).is_ok());
        Registry { host, program: Some((program, dir)) }
    }

    /// A registry that was started elsewhere.
    pub(crate) fn at(host: &str) -> Registry {
        Registry { host: host.to_owned(), program: None }
    }

    /// Starts it again with a password for everything, also for reading.
    pub(crate) fn require_login(&mut self, user: &str, password: &str) {
        self.set_login(user, password);
        let host = self.host.clone();
        let Some((program, dir)) = &mut self.program else { panic!("it was started elsewhere") };
        let (config, users) = (dir.path().join("config.yml"), dir.path().join("users"));
        let open = std::fs::read_to_string(&config).unwrap();
        let auth = format!("auth: {{ htpasswd: {{ realm: r, path: {} }} }}\n", users.display());
        std::fs::write(&config, open + &auth).unwrap();
        program.end();
        program.start_again();
        program.await_ready(|| TcpStream::connect(&host).is_ok());
    }

    /// Replaces its only user; the registry notices by itself.
    pub(crate) fn set_login(&self, user: &str, password: &str) {
        let mut command = Command::new(find("htpasswd"));
        let made = command.args(["-Bbn", user, password]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let Some((_, dir)) = &self.program else { panic!("it was started elsewhere") };
        std::fs::write(dir.path().join("users"), made.stdout).unwrap();
    }

    /// Reads anything of it.
    pub(crate) fn get(&self, path: &str, accept: &str) -> (u16, Vec<u8>) {
        let (status, _, body) = self.send("GET", path, &format!("Accept: {accept}\r\n"), b"");
        (status, body)
    }

    /// An image from scratch with busybox, and what `config` says about it.
    pub(crate) fn push_image(&self, name: &str, tag: &str, config: Value) -> Value {
        self.push_image_for(name, tag, Registry::architecture(), config)
    }

    /// The machine's own, as images name it.
    pub(crate) fn architecture() -> &'static str {
        match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    }

    /// An index with an image for one architecture. Returns its digest.
    pub(crate) fn push_index(
        &self,
        name: &str,
        tag: &str,
        architecture: &str,
        image: &Value,
    ) -> Digest {
        let bytes = image.to_string();
        let (digest, size) = (Digest::of(bytes.as_bytes()), bytes.len());
        let mut entry = described((digest, size), MANIFEST);
        entry["platform"] = json!({ "os": "linux", "architecture": architecture });
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [entry] });
        self.push_manifest_as(name, tag, INDEX, &index);
        Digest::of(index.to_string().as_bytes())
    }

    /// The same, for an architecture that it does not run on.
    pub(crate) fn push_image_for(
        &self,
        name: &str,
        tag: &str,
        architecture: &str,
        config: Value,
    ) -> Value {
        self.push_layer(name, tag, architecture, config, &image::layer())
    }

    fn push_layer(
        &self,
        name: &str,
        tag: &str,
        architecture: &str,
        config: Value,
        layer: &[u8],
    ) -> Value {
        let config = json!({
            "architecture": architecture,
            "os": "linux",
            "config": config,
            "rootfs": { "type": "layers", "diff_ids": [Digest::of(layer)] },
        });
        let config = self.push_blob(name, config.to_string().as_bytes());
        let layer = self.push_blob(name, layer);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": described(config, "application/vnd.oci.image.config.v1+json"),
            "layers": [described(layer, "application/vnd.oci.image.layer.v1.tar")],
        });
        self.push_manifest(name, tag, &manifest);
        manifest
    }

    /// An image whose `/bin/sleep` no machine can run.
    pub(crate) fn push_foreign_image(&self, name: &str, tag: &str) {
        self.push_layer(name, tag, Registry::architecture(), json!({}), &image::foreign_layer());
    }

    /// A Margo component with these files in its archive.
    pub(crate) fn push_component(&self, name: &str, version: &str, files: &[(&str, &str)]) {
        let archive = image::compose_archive(files);
        let archive = self.push_blob(name, &archive);
        let config = self.push_blob(name, b"{}");
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": "application/vnd.org.margo.component.compose+json",
            "config": described(config, "application/vnd.oci.empty.v1+json"),
            "layers": [described(archive, "application/vnd.org.margo.component.compose.tar+gzip")],
        });
        self.push_manifest(name, version, &manifest);
    }

    /// A Helm chart of these files.
    pub(crate) fn push_chart(&self, name: &str, version: &str, files: &[(&str, &str)]) {
        let chart = self.push_blob(name, &image::compose_archive(files));
        let config = self.push_blob(name, b"{}");
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": described(config, "application/vnd.cncf.helm.config.v1+json"),
            "layers": [described(chart, "application/vnd.cncf.helm.chart.content.v1.tar+gzip")],
        });
        self.push_manifest(name, version, &manifest);
    }

    #[track_caller]
    fn push_manifest(&self, name: &str, tag: &str, manifest: &Value) {
        self.push_manifest_as(name, tag, MANIFEST, manifest);
    }

    #[track_caller]
    fn push_manifest_as(&self, name: &str, tag: &str, kind: &str, manifest: &Value) {
        let path = format!("/v2/{name}/manifests/{tag}");
        let header = format!("Content-Type: {kind}\r\n");
        let (status, _, body) = self.send("PUT", &path, &header, manifest.to_string().as_bytes());
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
    }

    #[track_caller]
    fn push_blob(&self, name: &str, bytes: &[u8]) -> (Digest, usize) {
        let (status, head, _) = self.send("POST", &format!("/v2/{name}/blobs/uploads/"), "", b"");
        assert_eq!(status, 202, "{head}");
        let location = head.lines().find_map(|it| it.strip_prefix("Location: ")).unwrap();
        let path = &location[location.find("/v2/").unwrap()..];
        let digest = Digest::of(bytes);
        let header = "Content-Type: application/octet-stream\r\n";
        let (status, _, body) = self.send("PUT", &format!("{path}&digest={digest}"), header, bytes);
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
        (digest, bytes.len())
    }

    fn send(&self, method: &str, path: &str, header: &str, body: &[u8]) -> (u16, String, Vec<u8>) {
        let stream = TcpStream::connect(&self.host).unwrap();
        http::exchange(stream, method, path, header, body).unwrap()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        if let Some((program, _)) = &mut self.program {
            program.end();
        }
    }
}

fn described((digest, size): (Digest, usize), media_type: &str) -> Value {
    json!({ "mediaType": media_type, "digest": digest, "size": size })
}

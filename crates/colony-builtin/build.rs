//! Builds the server of the `hello` application for this target, without any
//! library, and packs what a registry would serve: image layer, archives and
//! charts.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

/// Version, revision, and whether it is broken, as in `src/lib.rs`.
const VERSIONS: [(&str, &str, bool); 3] =
    [("1.0", "1.0.0", false), ("1.1", "1.1.0", false), ("1.2-bad", "1.2.0-bad", true)];
/// The files of the chart.
const CHART: [&str; 5] = [
    "Chart.yaml",
    "values.yaml",
    "values.schema.json",
    "templates/deployment.yaml",
    "templates/service.yaml",
];

fn main() {
    println!("cargo::rerun-if-changed=hello");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let server = compile(&out);

    let layer = tar(&[("hello", 0o755, &server)]);
    println!("cargo::rustc-env=HELLO_DIFF_ID=sha256:{}", hex(&layer));
    store(&out, "layer", &gzip(&layer));

    let compose = fs::read_to_string("hello/compose.yaml").expect("hello/compose.yaml is there");
    for (number, (version, revision, broken)) in VERSIONS.iter().enumerate() {
        let text = compose.replace("@VERSION@", version);
        let archive = tar(&[("hello/compose.yaml", 0o644, text.as_bytes())]);
        store(&out, &format!("archive{number}"), &gzip(&archive));
        store(&out, &format!("chart{number}"), &gzip(&chart(version, revision, *broken)));
    }
}

/// The chart of one version, as an archive with the one folder Helm expects.
fn chart(version: &str, revision: &str, broken: bool) -> Vec<u8> {
    let files = CHART.map(|name| {
        let path = format!("hello/chart/{name}");
        let text = fs::read_to_string(&path).unwrap_or_else(|it| panic!("{path}: {it}"));
        let text = text.replace("@VERSION@", version).replace("@REVISION@", revision);
        (format!("hello/{name}"), text.replace("@BROKEN@", &broken.to_string()))
    });
    let files = files.each_ref().map(|(path, text)| (path.as_str(), 0o644, text.as_bytes()));
    tar(&files)
}

/// Static, because the image holds nothing else. Position independence would
/// need a loader some libcs do not have.
fn compile(out: &Path) -> Vec<u8> {
    let program = out.join("hello");
    let mut rustc = Command::new(env::var_os("RUSTC").expect("cargo sets RUSTC"));
    rustc.args(["--edition=2024", "--crate-name=hello", "-Copt-level=z", "-Cpanic=abort"]);
    rustc.args(["-Ccodegen-units=1", "-Clto=fat", "-Cstrip=symbols"]);
    rustc.args(["-Ctarget-feature=+crt-static", "-Crelocation-model=static"]);
    rustc.arg(format!("--target={}", env::var("TARGET").expect("cargo sets TARGET")));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={}", linker.to_string_lossy()));
    }
    rustc.arg("-o").arg(&program).arg("hello/main.rs");
    let status = rustc.status().expect("rustc can be started");
    assert!(status.success(), "hello/main.rs cannot be built statically: is libc6-dev there?");
    fs::read(program).expect("rustc wrote the program")
}

fn tar(files: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, mode, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(*mode);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        tar.append_data(&mut header, path, *bytes).expect("memory can be written");
    }
    tar.into_inner().expect("memory can be written")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut gzip, bytes).expect("memory can be written");
    gzip.finish().expect("memory can be written")
}

/// Writes a blob, and its digest beside it.
fn store(out: &Path, name: &str, bytes: &[u8]) {
    fs::write(out.join(name), bytes).expect("OUT_DIR can be written");
    let digest = format!("sha256:{}", hex(bytes));
    fs::write(out.join(format!("{name}.digest")), digest).expect("OUT_DIR can be written");
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|it| format!("{it:02x}")).collect()
}

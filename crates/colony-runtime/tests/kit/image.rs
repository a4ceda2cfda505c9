//! File trees of images and archives, made without an engine.

use std::io::Write;

use super::program::find;

/// The one layer of an image from scratch: busybox with the names it answers to.
pub(crate) fn layer() -> Vec<u8> {
    let busybox = std::fs::read(find("busybox")).unwrap();
    let mut tar = tar::Builder::new(Vec::new());
    put(&mut tar, "bin/busybox", &busybox, 0o755);
    for name in
        ["sh", "httpd", "wget", "sleep", "cat", "wc", "echo", "test", "touch", "true", "false"]
    {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        tar.append_link(&mut header, format!("bin/{name}"), "busybox").unwrap();
    }
    put(&mut tar, "etc/passwd", b"root:x:0:0:root:/:/bin/sh\n", 0o644);
    put(&mut tar, "www/index.html", b"hello\n", 0o644);
    tar.into_inner().unwrap()
}

/// A layer with a program for a machine that does not exist.
pub(crate) fn foreign_layer() -> Vec<u8> {
    // A header of a 64-bit ELF program with an unknown machine.
    let mut program = b"\x7fELF\x02\x01\x01".to_vec();
    program.resize(16, 0);
    program.extend([2, 0, 0xEE, 0xFE, 1, 0, 0, 0]);
    program.resize(120, 0);
    let mut tar = tar::Builder::new(Vec::new());
    put(&mut tar, "bin/sleep", &program, 0o755);
    tar.into_inner().unwrap()
}

/// A component's archive with these files below its one folder.
pub(crate) fn compose_archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, text) in files {
        put(&mut tar, &format!("component/{name}"), text.as_bytes(), 0o644);
    }
    let bytes = tar.into_inner().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    gzip.finish().unwrap()
}

fn put(tar: &mut tar::Builder<Vec<u8>>, name: &str, bytes: &[u8], mode: u32) {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(mode);
    tar.append_data(&mut header, name, bytes).unwrap();
}

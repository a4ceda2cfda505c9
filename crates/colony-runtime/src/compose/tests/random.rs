//! Arbitrary bytes are read or refused, and never panic.

use proptest::prelude::*;

use super::*;

/// Fragments that make random files nearly valid.
const FRAGMENTS: &[&str] = &[
    "services:\n",
    "  web:\n",
    "    image: x\n",
    "    ports:\n",
    "      - 80-90:80\n",
    "    <<: *a\n",
    "    environment: [A, B=$",
    "${A:-",
    "}\n",
    "]\n",
    "    command: 'a \" b\n",
    "x-a: &a\n",
    "  - \n",
    "    healthcheck: {test: []}\n",
    "    depends_on: [web]\n",
    "    volumes: [\"a:b:c\"]\n",
    "    env_file: app.env\n",
    "    networks: {a:}\n",
    "networks:\n  a:\n",
    "configs: {a: {file: ..}}\n",
    "    tmpfs: {}\n",
    "    extends: web\n",
    "    extends: {service: db}\n",
    "  db: {image: y, scale: 2}\n",
    "    profiles: [a]\n",
    "    deploy: {replicas: 3, resources: {reservations: {devices: [{}]}}}\n",
    "    logging: {options: []}\n",
    "    secrets: [a]\n",
    "secrets: {a: {file: x}}\n",
    "    depends_on: {web: {required: false}}\n",
    "\u{1F980}",
    "'",
    ":",
    "$",
];

proptest! {
    #[test]
    fn bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = Archive::unpack(&bytes);
        let _ = Archive::unpack(&gzip(&bytes));
    }

    #[test]
    fn damaged_archives_never_panic(at in 0usize..4_000, byte in any::<u8>()) {
        let mut tar = Vec::new();
        append(&mut tar, tar::EntryType::Regular, "app/compose.yaml", "services: {a: {image: x}}", "");
        append(&mut tar, tar::EntryType::Symlink, "app/link", "", "compose.yaml");
        tar.extend([0; 1024]);
        let length = tar.len();
        tar[at % length] = byte;
        if let Ok(archive) = Archive::unpack(&gzip(&tar)) {
            let _ = archive.project(&parameters());
        }
    }

    #[test]
    fn texts_never_panic(text in "\\PC{0,300}") {
        let _ = archive(&text).project(&parameters());
    }

    #[test]
    fn near_files_never_panic(parts in proptest::collection::vec(0..FRAGMENTS.len(), 0..20)) {
        let text: String = parts.into_iter().map(|it| FRAGMENTS[it]).collect();
        let _ = archive(&text).project(&parameters());
    }

    #[test]
    fn env_files_never_panic(text in "[A-C=$\\{\\}'\"\\\\# \n:-]{0,80}") {
        let bytes = pack(&[
            Item::File("app/compose.yaml", "services: {a: {image: x, env_file: e}}"),
            Item::File("app/e", &text),
        ]);
        let archive = Archive::unpack(&bytes).expect("the archive is right");
        let _ = archive.project(&parameters());
    }
}

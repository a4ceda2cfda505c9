//! Applications of the test's own: their archives and images in a real
//! registry, their packages in a folder that becomes the catalog.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::{Fleet, Gate, git};
use crate::engines::Registry;

#[derive(Debug)]
pub(crate) struct Shop {
    /// The way to the registry, for everybody but the one who fills it.
    pub(crate) gate: Gate,
    registry: Registry,
    folder: TempDir,
}

impl Shop {
    pub(crate) fn open() -> Shop {
        let registry = Registry::start();
        registry.push_image("busybox", "1", json!({ "Env": ["PATH=/bin"] }));
        let gate = Gate::open(&registry.host);
        Shop { gate, registry, folder: tempfile::tempdir().unwrap() }
    }

    /// Its registry wants this password from now on, also for reading.
    pub(crate) fn require_login(&mut self, user: &str, password: &str) {
        self.registry.require_login(user, password);
    }

    /// Adds an image, version 1, for machines that no test runs on.
    pub(crate) fn put_foreign_image(&self, name: &str) {
        self.registry.push_image_for(name, "1", "s390x", json!({ "Cmd": ["/bin/sleep", "3600"] }));
    }

    /// Publishes a version. `SHOP` in its compose file stands for the registry.
    pub(crate) fn put(&self, id: &str, version: &str, compose: &str) -> &Shop {
        let compose = compose.replace("SHOP", &self.gate.address);
        let revision = format!("{version}.0");
        self.registry.push_component(id, &revision, &[("compose.yaml", &compose)]);
        let folder = self.folder.path().join(id).join(version);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("margo.yaml"), self.package(id, version)).unwrap();
        self
    }

    fn package(&self, id: &str, version: &str) -> String {
        PACKAGE.replace("ID", id).replace("VERSION", version).replace("SHOP", &self.gate.address)
    }

    /// The packages become part of the fleet's catalog, out of Git.
    #[track_caller]
    pub(crate) fn serve(&self, fleet: &Fleet) {
        let folder = self.folder.path();
        git(folder, &["init", "-q", "-b", "main"]);
        git(folder, &["add", "."]);
        git(folder, &["commit", "-q", "-m", "Applications"]);
        fleet.colony(["app", "add", folder.to_str().unwrap(), "--name", "shop"]).ok();
        let registries = fleet.json(["app", "registry", "list"]);
        let own = registries.as_array().unwrap().iter().find(|it| it["name"] == "shop").unwrap();
        assert_eq!(own["findings"], json!([]), "{own:#}");
    }
}

/// A compose file with the one service `web`, that has these more lines.
pub(crate) fn web(more: &[&str]) -> String {
    let lines: String = more.iter().map(|it| format!("    {it}\n")).collect();
    format!("services:\n  web:\n    stop_signal: SIGKILL\n{lines}")
}

impl Shop {
    /// A workload that is well.
    pub(crate) fn good() -> String {
        web(&[
            "image: SHOP/busybox:1",
            "command: [sleep, '3600']",
            "healthcheck: {test: [CMD, 'true'], interval: 1s}",
        ])
    }
}

const PACKAGE: &str = "\
apiVersion: v1
id: ID
metadata:
  name: ID
  version: 'VERSION'
  catalog: {organization: [{name: Example}]}
deploymentProfiles:
  - id: compose
    type: compose
    components:
      - name: web
        properties:
          repository: oci://SHOP/ID
          revision: 'VERSION.0'
          timeout: 1m0s
parameters:
  interval:
    value: 30
    targets:
      - pointer: INTERVAL
        components: [web]
configuration:
  sections:
    - name: Measuring
      settings:
        - parameter: interval
          name: Interval
          schema: interval
  schema:
    - name: interval
      dataType: integer
      minValue: 1
      maxValue: 60
";

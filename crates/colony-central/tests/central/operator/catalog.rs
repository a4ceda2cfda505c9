//! Registries become the catalog; what is broken takes nothing away.

use std::path::Path;

use colony_api::request::RegistryAdd;
use http::Method;

use crate::support::Hub;

#[tokio::test]
async fn a_broken_package_is_a_finding_and_the_last_good_version_stays() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let registry = dir.path().join("apps");
    package(&registry, "pump/1.0", "1.0", "pump");
    package(&registry, "pump/1.1", "1.1", "pump");

    let add = RegistryAdd { url: registry.display().to_string(), ..RegistryAdd::default() };
    let view = hub.client.registry_add(&add).await.expect("a registry");
    assert_eq!((view.name.as_str(), view.packages), ("apps", 2));
    assert_eq!(view.applications["pump"], ["1.1", "1.0"]);
    std::fs::write(registry.join("pump/1.1/margo.yaml"), "id: pump\nmetadata: 7\n")
        .expect("a file");
    let answer = hub.send(Method::POST, "/api/v1/registries/apps/sync", "").await;
    assert_eq!(answer.status, 200);

    let pump = hub.client.application_show("pump").await.expect("the application");
    assert_eq!(pump.versions, ["1.1", "1.0"]);
    let detail = hub.client.application_version("pump", "1.1").await.expect("the version");
    let found: Vec<String> = detail.warnings.iter().map(ToString::to_string).collect();
    assert!(found.iter().any(|it| it.starts_with("pump/1.1/margo.yaml:")), "{found:?}");
    let registries = hub.client.registry_list().await.expect("a list");
    let mine = registries.iter().find(|it| it.name == "apps").expect("ours");
    assert!(!mine.findings.is_empty());
    hub.stop().await;
}

#[tokio::test]
async fn broken_packages_are_counted_and_shown_with_their_registry() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let registry = dir.path().join("apps");
    for folder in ["fan/1.0", "pump/1.0"] {
        package(&registry, folder, "1.0", "pump");
        std::fs::write(registry.join(folder).join("margo.yaml"), "id: 7\n").expect("a file");
    }

    let add = RegistryAdd { url: registry.display().to_string(), ..RegistryAdd::default() };
    let view = hub.client.registry_add(&add).await.expect("a registry");

    assert_eq!((view.packages, view.broken), (0, 2), "{view:?}");
    let files: Vec<&str> = view.findings.iter().filter_map(|it| it.file.as_deref()).collect();
    assert!(files.contains(&"fan/1.0/margo.yaml") && files.contains(&"pump/1.0/margo.yaml"));
    assert_eq!(hub.client.registry_show("apps").await.expect("it"), view);
    let unknown = hub.client.registry_show("nope").await.expect_err("there is none");
    assert!(unknown.to_string().contains("there is apps, builtin"), "{unknown}");
    hub.stop().await;
}

#[tokio::test]
async fn a_registry_that_cannot_be_read_is_not_added() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let url = dir.path().join("nowhere").display().to_string();
    let add = RegistryAdd { url, ..RegistryAdd::default() };
    let error = hub.client.registry_add(&add).await.expect_err("it is refused");
    assert!(error.to_string().contains("the registry cannot be read"), "{error}");
    assert_eq!(hub.client.registry_list().await.expect("a list").len(), 1);
    assert!(!dir.path().join("central/registries/nowhere").exists(), "nothing is left of it");
    hub.stop().await;
}

#[tokio::test]
async fn a_registry_is_not_lost_to_another_of_its_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let registry = dir.path().join("apps");
    package(&registry, "pump/1.0", "1.0", "pump");
    let url = registry.display().to_string();
    let add = |url: &str, branch: Option<&str>| RegistryAdd {
        url: url.to_owned(),
        name: Some("apps".to_owned()),
        branch: branch.map(str::to_owned),
    };
    hub.client.registry_add(&add(&url, None)).await.expect("a registry");

    let nowhere = dir.path().join("nowhere").display().to_string();
    for other in [add(&nowhere, None), add(&url, Some("next"))] {
        let error = hub.client.registry_add(&other).await.expect_err("it is another one");
        let text = error.to_string();
        assert!(text.contains("registry `apps` is at ") && text.contains("--name"), "{text}");
    }
    let kept = hub.client.registry_show("apps").await.expect("it is there");
    assert_eq!((kept.url.as_str(), kept.packages), (url.as_str(), 1));
    package(&registry, "pump/1.1", "1.1", "pump");
    let again = hub.client.registry_add(&add(&url, None)).await.expect("it is read again");
    assert_eq!(again.packages, 2);
    hub.stop().await;
}

fn package(registry: &Path, folder: &str, version: &str, id: &str) {
    let folder = registry.join(folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = format!(
        "apiVersion: v1\nid: {id}\nmetadata:\n  name: Pump\n  version: '{version}'\n  \
         catalog: {{organization: [{{name: Example}}]}}\ndeploymentProfiles:\n  - id: main\n    \
         type: compose\n    components:\n      - name: web\n        properties:\n          \
         repository: oci://registry.test/pump\n          revision: '{version}.0'\n"
    );
    std::fs::write(folder.join("margo.yaml"), text).expect("a file");
}

#[tokio::test]
async fn a_version_that_left_its_registry_leaves_the_catalog_unless_it_is_deployed() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let _lo = hub.site(&["a"]).await;
    let registry = dir.path().join("apps");
    for version in ["1.0", "1.1", "1.2"] {
        package(&registry, &format!("pump/{version}"), version, "pump");
    }
    let add = RegistryAdd { url: registry.display().to_string(), ..RegistryAdd::default() };
    hub.client.registry_add(&add).await.expect("a registry");
    let deploy = |version: Option<&str>| colony_api::request::DeployRequest {
        application: "pump".to_owned(),
        version: version.map(str::to_owned),
        ..Default::default()
    };
    assert!(hub.client.deploy(&deploy(Some("1.1"))).await.expect("a plan").accepted);
    hub.event("committed", 0).await;
    for version in ["1.1", "1.2"] {
        std::fs::remove_dir_all(registry.join("pump").join(version)).expect("removed");
    }

    let synced = hub.client.registry_sync("apps").await.expect("read again");

    assert_eq!(synced.last_error, None);
    let pump = hub.client.application_show("pump").await.expect("the application");
    assert_eq!(pump.versions, ["1.0"], "neither is there for new deployments");
    let plan = |request: colony_api::request::DeployRequest| {
        let dry = colony_api::request::DeployRequest { dry_run: true, ..request };
        let client = hub.client.clone();
        async move { client.deploy(&dry).await }
    };
    plan(deploy(Some("1.1"))).await.expect("what is deployed stays usable");
    let error = plan(deploy(Some("1.2"))).await.expect_err("it is gone");
    assert!(error.to_string().contains("no version `1.2`"), "{error}");
    package(&registry, "pump/1.2", "1.2", "pump");
    hub.client.registry_sync("apps").await.expect("read again");
    plan(deploy(Some("1.2"))).await.expect("it came back");
    hub.stop().await;
}

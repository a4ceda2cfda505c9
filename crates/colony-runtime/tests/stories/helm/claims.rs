//! Claims for volumes: Helm leaves them, a purge does not.

use std::collections::BTreeMap;

use colony_core::node::{Container, Health, Status};

use super::{App, World};

/// Volumes in folders of the cluster's only node, and a claim of another
/// release. There is no storage class, so claims are bound by their size.
const VOLUMES: &str = "apiVersion: v1
kind: PersistentVolume
metadata: {name: purged}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 3Mi}
  hostPath: {path: /run/purged, type: DirectoryOrCreate}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: others, labels: {app.kubernetes.io/instance: others}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 9Ti}}}
";

pub(crate) async fn claims_go_with_a_purge(world: &World) {
    world.cluster.apply(VOLUMES);
    let app = world.database("purged", "storage: 3Mi");
    world.install_database(&app).await;
    let file = ["exec", "purged-web-0", "--", "/bin/busybox", "touch", "/data/kept"];
    world.cluster.kubectl(&file);

    world.remove(&app).await;
    assert_eq!(world.claims(), "data-purged-web-0 others");
    world.install_database(&app).await;
    let file = ["exec", "purged-web-0", "--", "/bin/busybox", "ls", "/data"];
    assert_eq!(world.cluster.kubectl(&file).trim(), "kept", "a removal keeps the data");

    world.purge(&app).await;
    assert!(world.look(&app).await.is_empty());
    world.cluster.await_gone("persistentvolumeclaim/data-purged-web-0");
    assert_eq!(world.claims(), "others", "claims of others stay");
    let phase = ["get", "persistentvolume", "purged", "-o", "jsonpath={.status.phase}"];
    assert_eq!(world.cluster.kubectl(&phase), "Released", "the cluster decides about the volume");

    // The release says nothing about its claims when it is gone.
    world.prepare(&app).await.unwrap();
    world.start(&app).await.unwrap();
    world.cluster.await_there("persistentvolumeclaim/data-purged-web-0");
    world.remove(&app).await;
    assert_eq!(world.claims(), "data-purged-web-0 others");
    world.purge(&app).await;
    world.cluster.await_gone("persistentvolumeclaim/data-purged-web-0");
    assert_eq!(world.claims(), "others");
    world.purge(&app).await;
    world.cluster.kubectl(&["delete", "persistentvolumeclaim", "others"]);
    world.cluster.kubectl(&["delete", "persistentvolume", "purged"]);
}

impl World {
    async fn install_database(&self, app: &App) {
        self.prepare(app).await.unwrap();
        self.start(app).await.unwrap();
        let well = |it: &Container| it.status == Status::Running && it.health == Health::Healthy;
        let all = |it: &BTreeMap<String, Container>| it.len() == 2 && it.values().all(well);
        self.until(app, "healthy", all).await;
    }

    /// Their names, without those of other stories.
    fn claims(&self) -> String {
        let selector = "app.kubernetes.io/instance in (purged-web, others)";
        let names = "jsonpath={.items[*].metadata.name}";
        let claims = ["get", "persistentvolumeclaims", "-l", selector, "-o", names];
        self.cluster.kubectl(&claims)
    }
}

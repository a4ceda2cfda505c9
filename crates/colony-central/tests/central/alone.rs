//! One process at a time has the folder and the database of the role.

use std::os::unix::fs::PermissionsExt;

use colony_central::{Config, backup, restore, start};
use http::Method;

use crate::support::Hub;

#[tokio::test]
async fn a_second_process_is_refused_and_the_first_goes_on() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let listen = "127.0.0.1:0".parse().expect("an address");
    let own = Config::new(dir.path().join("central"), listen);
    let mode = own.data.metadata().expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "it holds keys");
    let process = format!("in use by process {}", std::process::id());

    let same = start(own.clone()).await.expect_err("the folder is in use");
    assert!(format!("{same:#}").contains(&process), "{same:#}");
    let mut other = Config::new(dir.path().join("other"), listen);
    other.database = Some(format!("sqlite:{}", own.data.join("central.db").display()));
    let same = start(other).await.expect_err("the database is in use");
    assert!(format!("{same:#}").contains(&process), "{same:#}");

    let file = dir.path().join("fleet.tar");
    backup(&own, &file).await.expect("a backup needs no claim");
    assert_eq!(hub.send(Method::GET, "/readyz", "").await.status, 200);
    hub.stop().await;
    let restored = Config::new(dir.path().join("restored"), listen);
    restore(&restored, &file).await.expect("restored");
    drop(start(restored).await.expect("it starts"));
    drop(start(own).await.expect("it is free again"));
}

//! Registries, packages, tokens.

use colony_core::time::Timestamp;
use colony_store::{Error, OperatorToken, PackageHead, Registry, Write};

use crate::database::Database;
use crate::sample;

pub(crate) async fn registries_are_kept_by_name(it: &Database) {
    let store = it.open().await;
    let mut main = registry("main");
    store.registry_put(&main).await.expect("it is stored");
    store.registry_put(&registry("Extra")).await.expect("it is stored");
    main.last_error = Some("no such host\0".to_owned());
    main.last_sync = Some(Timestamp(9));
    store.registry_put(&main).await.expect("it is stored");

    assert_eq!(store.registry_list().await.expect("a list"), [registry("Extra"), main]);
    let remove = || Write { registries_remove: vec!["Extra".to_owned()], ..Write::default() };
    store.commit(remove()).await.expect("it is removed");
    refused(store.commit(remove()).await, "registry `Extra` does not exist");
    assert_eq!(store.registry_list().await.expect("a list").len(), 1);
}

pub(crate) async fn a_registry_that_is_gone_does_not_come_back(it: &Database) {
    let store = it.open().await;
    let add = |it: &Registry| Write { registries_add: vec![it.clone()], ..Write::default() };
    let (old, mut other) = (registry("main"), registry("main"));
    store.commit(add(&old)).await.expect("it is added");
    refused(store.commit(add(&old)).await, "registry `main` already exists");
    assert!(store.registry_synced(&old).await.expect("an answer"));
    let remove = Write { registries_remove: vec!["main".to_owned()], ..Write::default() };
    store.commit(remove).await.expect("it is removed");

    assert!(!store.registry_synced(&old).await.expect("an answer"), "it is gone");
    assert_eq!(store.registry_list().await.expect("a list"), []);
    other.url = "https://git.test/others.git".to_owned();
    store.commit(add(&other)).await.expect("it is added");
    assert!(!store.registry_synced(&old).await.expect("an answer"), "it is another one");
    other.last_sync = Some(Timestamp(9));
    assert!(store.registry_synced(&other).await.expect("an answer"));
    assert_eq!(store.registry_list().await.expect("a list"), [other]);
}

#[track_caller]
fn refused(answer: Result<i64, Error>, expected: &str) {
    assert_eq!(answer.expect_err("it is refused").to_string(), expected);
}

pub(super) fn registry(name: &str) -> Registry {
    Registry {
        name: name.to_owned(),
        url: "https://git.test/apps.git".to_owned(),
        at: Timestamp(1),
        last_sync: None,
        last_error: None,
        revision: Some("3f2a1c".to_owned()),
    }
}

pub(crate) async fn packages_are_kept_by_version(it: &Database) {
    let store = it.open().await;
    let mut package = sample::package("hello", "1.0");
    assert!(store.package_put(&package).await.expect("an answer"), "it is new");
    package.at = Timestamp(2);
    assert!(!store.package_put(&package).await.expect("an answer"), "it is the same");
    let (mut named, mut moved) = (package.clone(), package.clone());
    named.name = "Hello!".to_owned();
    assert!(store.package_put(&named).await.expect("an answer"), "its name differs");
    moved.path = "elsewhere".to_owned();
    assert!(store.package_put(&moved).await.expect("an answer"), "its path differs");
    let other = sample::package("hello", "1.10");
    assert!(store.package_put(&other).await.expect("an answer"), "another version");
    store.package_put(&sample::package("Zebra", "1.0")).await.expect("it is stored");

    let list = store.package_list().await.expect("a list");
    let listed: Vec<String> =
        list.iter().map(|it| format!("{} {}", it.application, it.version)).collect();
    assert_eq!(listed, ["Zebra 1.0", "hello 1.0", "hello 1.10"]);
    let head = PackageHead {
        application: moved.application.clone(),
        version: moved.version.clone(),
        name: moved.name.clone(),
        registry: moved.registry.clone(),
        digest: moved.digest,
        at: moved.at,
    };
    assert_eq!(list[1], head);
    assert_eq!(store.package("hello", "1.0").await.expect("an answer"), Some(moved));
    assert_eq!(store.package("hello", "9\0").await.expect("an answer"), None);
    assert_eq!(store.package_versions("hello").await.expect("versions"), ["1.0", "1.10"]);
    store.package_remove("elsewhere", "hello", "1.10").await.expect("an answer");
    assert_eq!(store.package_versions("hello").await.expect("versions"), ["1.0", "1.10"]);
    store.package_remove(&other.registry, "hello", "1.10").await.expect("it is removed");
    assert_eq!(store.package_versions("hello").await.expect("versions"), ["1.0"]);
}

pub(crate) async fn tokens_are_found_by_hash(it: &Database) {
    let store = it.open().await;
    let mut ana = token("ana", "h1");
    let add = |it| Write { tokens_add: vec![it], ..Write::default() };
    store.commit(add(ana.clone())).await.expect("it is stored");
    store.commit(add(token("ben", "h2"))).await.expect("it is stored");
    ana.hash = "h3".to_owned();
    let replace = Write { tokens_remove: vec!["ana".to_owned()], ..add(ana.clone()) };
    store.commit(replace).await.expect("it is replaced");

    assert_eq!(store.token_by_hash("h1").await.expect("an answer"), None);
    assert_eq!(store.token_by_hash("h3").await.expect("an answer"), Some(ana.clone()));
    assert_eq!(store.token_list().await.expect("a list"), [ana, token("ben", "h2")]);
    refused(store.commit(add(token("ben", "h4"))).await, "token `ben` already exists");
    let remove = || Write { tokens_remove: vec!["ben".to_owned()], ..Write::default() };
    store.commit(remove()).await.expect("it is removed");
    refused(store.commit(remove()).await, "token `ben` does not exist");
    assert_eq!(store.token_by_hash("h2").await.expect("an answer"), None);
}

pub(super) fn token(name: &str, hash: &str) -> OperatorToken {
    OperatorToken {
        name: name.to_owned(),
        hash: hash.to_owned(),
        role: "operator".to_owned(),
        sites: vec!["home".to_owned()],
        expires: None,
        created: Timestamp(1),
    }
}

//! Lists in pages: every item once, in order, and each page with its own tag.

use colony_api::request::{DeployRequest, SiteAdd};
use http::{Method, StatusCode};
use serde_json::Value;

use crate::support::{Hub, hello};

#[tokio::test]
async fn pages_of_a_list_have_every_item_once_and_their_own_tags() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let mut lo = hub.site(&["a", "a-b", "b"]).await;
    for name in ["hello", "hello-b", "hell"] {
        let named = DeployRequest { name: Some(name.to_owned()), ..hello("1.0") };
        hub.client.deploy(&named).await.expect("a plan");
        lo.follow().await;
    }
    for name in ["home-b", "attic"] {
        let add = SiteAdd { name: name.to_owned(), ..SiteAdd::default() };
        hub.client.site_add(&add).await.expect("a site");
    }
    check(&hub, "sites", &["attic", "home", "home-b"]).await;
    check(&hub, "nodes", &["home/a", "home/a-b", "home/b"]).await;
    check(&hub, "nodes?site=home", &["home/a", "home/a-b", "home/b"]).await;
    check(&hub, "deployments", &["hell", "hello", "hello-b"]).await;
    check(&hub, "deployments?site=attic", &[]).await;
    hub.stop().await;
}

/// Reads the list one by one, until there is nothing behind the last item.
async fn check(hub: &Hub, list: &str, expected: &[&str]) {
    let (mut found, mut tags) = (Vec::<String>::new(), Vec::<String>::new());
    loop {
        let between = if list.contains('?') { '&' } else { '?' };
        let after = found.last().map(|it| format!("&after={it}")).unwrap_or_default();
        let path = format!("/api/v1/{list}{between}limit=1{after}");
        let answer = hub.send(Method::GET, &path, "").await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        let tag = answer.headers["etag"].to_str().expect("text").to_owned();
        assert_eq!(hub.list_unless(&path, &tag).await.status, StatusCode::NOT_MODIFIED, "{path}");
        for other in &tags {
            let again = hub.list_unless(&path, other).await.status;
            assert_eq!(again, StatusCode::OK, "{path} has the tag of another page");
        }
        tags.push(tag);
        let page: Vec<Value> = serde_json::from_slice(&answer.body).expect("a list");
        assert!(page.len() <= 1, "{path}: {page:?}");
        let Some(item) = page.first() else { break };
        let name = item["name"].as_str().expect("a name");
        // A site has presence and nodes as well, but belongs to none.
        let site = item["site"].as_str().map(|it| format!("{it}/")).unwrap_or_default();
        found.push(format!("{site}{name}"));
        assert!(found.len() <= expected.len(), "{list}: {found:?}");
    }
    assert_eq!(found, expected, "{list}");
}

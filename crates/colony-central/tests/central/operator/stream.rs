//! Events as they come, from where the reader was.

use colony_api::client::{Client, Server, Signal};
use colony_api::request::{EventQuery, SiteAdd};

use crate::support::Hub;

#[tokio::test]
async fn a_stream_resumes_behind_the_last_event_and_misses_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    for name in ["s1", "s2", "s3"] {
        add(&hub, name).await;
    }
    let first = hub.event("site_added", 0).await;

    let query = EventQuery { kind: Some("site_added".to_owned()), ..EventQuery::default() };
    let stream = hub.client.event_follow(query, Some(first.id)).await;
    let mut stream = stream.expect("a stream");
    assert_eq!(next(&mut stream).await, "s2");
    assert_eq!(next(&mut stream).await, "s3");
    add(&hub, "s4").await;
    assert_eq!(next(&mut stream).await, "s4");
    hub.stop().await;
}

#[tokio::test]
async fn a_filter_by_site_and_the_newest_are_answered_as_a_page() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    for name in ["s1", "s2", "s3"] {
        add(&hub, name).await;
    }
    let query = EventQuery { site: Some("s2".to_owned()), ..EventQuery::default() };
    let page = hub.client.event_list(&query).await.expect("a page");
    let told: Vec<&str> = page.events.iter().map(|it| it.sentence.as_str()).collect();
    assert_eq!(told, ["admin added site s2"]);
    let query = EventQuery { last: Some(1), ..EventQuery::default() };
    let page = hub.client.event_list(&query).await.expect("a page");
    assert_eq!(page.events[0].site.as_deref(), Some("s3"));
    assert_eq!(page.events[0].actor, "admin");
    hub.stop().await;
}

#[tokio::test]
async fn a_reader_of_another_store_is_told_to_read_all_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let stream =
        hub.client.event_follow(EventQuery::default(), Some("00000000-7".to_owned())).await;
    let mut stream = stream.expect("a stream");
    assert_eq!(stream.next().await.expect("a signal"), Signal::Reset);
    add(&hub, "s1").await;
    assert_eq!(next(&mut stream).await, "s1");
    hub.stop().await;
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let dir = tempfile::tempdir().expect("a folder");
    let hub = Hub::start(dir.path()).await;
    let server = Server {
        url: hub.url.clone(),
        token: Some(hub.made("viewer", &[]).await),
        ca_pem: Some(hub.ca()),
    };
    let viewer = Client::new(server).expect("a client");
    let query = EventQuery { kind: Some("site_added".to_owned()), ..EventQuery::default() };
    let mut stream = viewer.event_follow(query, None).await.expect("a stream");
    add(&hub, "s1").await;
    assert_eq!(next(&mut stream).await, "s1");

    hub.client.token_delete("viewer-").await.expect("it is deleted");
    let lost = Signal::Lost("the server closed the stream".to_owned());
    assert_eq!(stream.next().await.expect("a signal"), lost);
    let error = stream.next().await.expect_err("the position is unknown").to_string();
    assert!(error.contains("this token is not known here"), "{error}");
    hub.stop().await;
}

async fn add(hub: &Hub, name: &str) {
    let add = SiteAdd { name: name.to_owned(), ..SiteAdd::default() };
    hub.client.site_add(&add).await.expect("a site");
}

async fn next(stream: &mut colony_api::client::EventStream) -> String {
    let signal = stream.next().await.expect("a signal");
    let Signal::Event(event) = signal else { panic!("{signal:?}") };
    event.site.unwrap_or_default()
}

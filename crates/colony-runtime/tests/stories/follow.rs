//! Following what two services print.

use std::collections::BTreeMap;
use std::time::Duration;

use colony_runtime::{LogEntry, LogQuery};

use super::world::World;

/// Every line comes once, in pages of any size.
pub(crate) async fn a_log_of_two_services(world: &World) {
    let app = world.app("talk", "
services:
  a: { image: IMAGE, command: [/bin/sh, -c, 'for i in $$(seq 60); do echo a$$i; done; sleep 3600'], stop_grace_period: 0s }
  b: { image: IMAGE, command: [/bin/sh, -c, 'for i in $$(seq 60); do echo b$$i >&2; sleep 0.02; done; sleep 3600'], stop_grace_period: 0s }
");
    world.node.prepare(&app).await.unwrap();
    world.node.start_app(&app).await.unwrap();
    let mut query = LogQuery { lines: 5, ..LogQuery::default() };
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    query.after = Some(String::new());
    let wait = async {
        while said.values().map(Vec::len).sum::<usize>() < 120 {
            let page = world.node.runtime.logs(&app.id, &query).await.unwrap();
            assert!(page.lines.iter().all(|it| it.time.is_some()), "{page:?}");
            assert!(page.lines.is_sorted_by_key(|it| it.time), "{page:?}");
            for LogEntry { service, text, .. } in page.lines {
                said.entry(service).or_default().push(text);
            }
            query.after = Some(page.position);
            query.lines = query.lines % 7 + 1;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), wait).await;
    assert!(in_time.is_ok(), "{said:?}");
    for (service, lines) in &said {
        let expected: Vec<String> = (1..=60).map(|it| format!("{service}{it}")).collect();
        assert_eq!(lines, &expected);
    }
    let rest = world.node.runtime.logs(&app.id, &query).await.unwrap();
    assert_eq!(rest.lines, []);

    let one = LogQuery { lines: 2, service: Some("b".to_owned()), ..LogQuery::default() };
    let tail = world.node.runtime.logs(&app.id, &one).await.unwrap();
    let tail: Vec<&str> = tail.lines.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(tail, ["b59", "b60"]);
    world.node.remove(&app).await;
}

//! The start order of services.

use std::collections::{BTreeMap, BTreeSet};

use crate::compose::Service;

/// Services by wave: each depends on earlier waves only. `Err` lists services
/// that wait for each other or for one that does not exist.
pub(crate) fn waves(services: &BTreeMap<String, Service>) -> Result<Vec<Vec<&str>>, Vec<&str>> {
    let mut waves: Vec<Vec<&str>> = Vec::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while done.len() < services.len() {
        let open = services.iter().filter(|it| !done.contains(it.0.as_str()));
        let ready = |it: &Service| it.depends_on.keys().all(|it| done.contains(it.as_str()));
        let (wave, rest): (Vec<_>, Vec<_>) = open.partition(|it| ready(it.1));
        if wave.is_empty() {
            return Err(rest.into_iter().map(|it| it.0.as_str()).collect());
        }
        let wave: Vec<&str> = wave.into_iter().map(|it| it.0.as_str()).collect();
        done.extend(&wave);
        waves.push(wave);
    }
    Ok(waves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::Condition;

    #[test]
    fn what_is_depended_on_comes_first() {
        check("", Ok(""));
        check("a b", Ok("a b"));
        check("a:b b", Ok("b | a"));
        check("web:db,cache db:init cache init", Ok("cache init | db | web"));
    }

    #[test]
    fn circles_are_named() {
        check("a:b b:a c", Err("a b"));
        check("a:a", Err("a"));
        check("a:gone", Err("a"));
    }

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let services: BTreeMap<String, Service> = text.split_whitespace().map(service).collect();
        let found = waves(&services);
        let found = found.map(|it| it.iter().map(|it| it.join(" ")).collect::<Vec<_>>());
        let found = found.map(|it| it.join(" | ")).map_err(|it| it.join(" "));
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
    }

    fn service(text: &str) -> (String, Service) {
        let (name, needs) = text.split_once(':').unwrap_or((text, ""));
        let needs = needs.split(',').filter(|it| !it.is_empty());
        let depends_on = needs.map(|it| (it.to_owned(), Condition::Started)).collect();
        (name.to_owned(), Service { depends_on, ..Service::default() })
    }
}

//! The parameters a new site takes over from the other sites of the deployment.

use std::collections::BTreeMap;
use std::fmt;

use colony_core::margo::{ApplicationDescription, Json};
use colony_core::plan::values;

use super::inputs::PlanInputs;
use crate::app::App;
use crate::catalog;
use crate::repo::Facts;

/// The values that were chosen at all other sites, and the parameters that
/// differ between them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CarriedValues {
    pub values: BTreeMap<String, Json>,
    pub differing: Vec<DifferingParameter>,
}

/// A parameter that a new site does not take over, because the other sites
/// disagree.
#[derive(Debug, PartialEq)]
pub(super) struct DifferingParameter {
    pub name: String,
    /// By site; `None` is the default.
    sites: Vec<(String, Option<Json>)>,
}

impl fmt::Display for DifferingParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |(site, value): &(String, Option<Json>)| {
            let value = value.as_ref().map_or("the default".to_owned(), ToString::to_string);
            format!("{site} has {value}")
        };
        let sites: Vec<String> = self.sites.iter().map(text).collect();
        let (name, sites) = (&self.name, sites.join(", "));
        write!(
            f,
            "parameter {name} is not carried over to a new site, because {sites}; \
             set it with `--set`"
        )
    }
}

/// The values that all sites of the deployment agree on.
pub(super) async fn carried(app: &App, inputs: &PlanInputs) -> CarriedValues {
    let mut chosen = Vec::new();
    for target in inputs.selected.iter().chain(&inputs.others) {
        let Some(deployed) = &target.deployed else { continue };
        let facts = Facts::of(deployed);
        let version = Some(facts.version.as_str());
        let found = catalog::find(app.brain.store(), &facts.application, version).await.ok();
        let values = values(Some(deployed));
        let values = without_defaults(values, found.as_ref().map(|it| &*it.description));
        chosen.push((target.site.to_string(), values));
    }
    agreed(&chosen)
}

/// Drops values that equal the default of their version: they were not chosen
/// explicitly.
fn without_defaults(
    mut values: BTreeMap<String, Json>,
    description: Option<&ApplicationDescription>,
) -> BTreeMap<String, Json> {
    let default = |name: &str| description?.parameters.get(name)?.value.as_ref();
    values.retain(|name, value| default(name) != Some(value));
    values
}

fn agreed(chosen: &[(String, BTreeMap<String, Json>)]) -> CarriedValues {
    let mut carried = CarriedValues::default();
    let Some((_, first)) = chosen.first() else { return carried };
    let names: std::collections::BTreeSet<&String> =
        chosen.iter().flat_map(|it| it.1.keys()).collect();
    for name in names {
        let value = first.get(name);
        if let Some(value) = value.filter(|_| chosen.iter().all(|it| it.1.get(name) == value)) {
            carried.values.insert(name.clone(), value.clone());
            continue;
        }
        let own = |it: &(String, BTreeMap<String, Json>)| (it.0.clone(), it.1.get(name).cloned());
        let sites = chosen.iter().map(own).collect();
        carried.differing.push(DifferingParameter { name: name.clone(), sites });
    }
    carried
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_all_sites_agree_on_is_carried_over() {
        check(&[r#"{"greeting": "A"}"#], r#"{"greeting": "A"}"#, "");
        check(&[r#"{"greeting": "A"}"#, r#"{"greeting": "A"}"#], r#"{"greeting": "A"}"#, "");
        check(
            &[r#"{"greeting": "A", "port": 80}"#, r#"{"port": 80}"#],
            r#"{"port": 80}"#,
            "parameter greeting is not carried over to a new site, because s1 has \"A\", \
             s2 has the default; set it with `--set`",
        );
        check(&[], "{}", "");
    }

    #[test]
    fn defaults_are_not_carried_over() {
        let text = "
apiVersion: v1
id: pump
metadata:
  name: Pump
  version: '1.0'
  catalog: {organization: [{name: Example}]}
deploymentProfiles:
  - id: compose
    type: compose
    components: [{name: web, properties: {repository: 'oci://r.test/p', revision: '1.0.0'}}]
parameters:
  port: {value: 80, targets: [{pointer: PORT, components: [web]}]}
";
        let description = ApplicationDescription::parse(text.as_bytes()).expect("valid").value;
        let values = BTreeMap::from([("port".to_owned(), json!(80)), ("x".to_owned(), json!(1))]);
        let chosen = without_defaults(values, Some(&description));
        assert_eq!(chosen, BTreeMap::from([("x".to_owned(), json!(1))]));
    }

    #[track_caller]
    fn check(sites: &[&str], values: &str, warnings: &str) {
        let read = |it: &str| serde_json::from_str(it).expect("JSON");
        let chosen: Vec<_> =
            sites.iter().zip(1..).map(|(it, at)| (format!("s{at}"), read(it))).collect();
        let carried = agreed(&chosen);
        assert_eq!(carried.values, read(values));
        let said: Vec<String> = carried.differing.iter().map(ToString::to_string).collect();
        assert_eq!(said.join("; "), warnings);
    }
}

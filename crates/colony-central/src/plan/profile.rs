//! Which profile of an application is deployed, and why not the others.

use colony_margo::description::Profile;
use colony_margo::{ApplicationDescription, Capabilities};

/// A node that might run it, as it last described itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'a> {
    /// `site/node`.
    pub name: &'a str,
    pub capabilities: &'a Capabilities,
}

/// The profile that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub profile: String,
    /// One sentence per profile, the chosen one first.
    pub reasons: Vec<String>,
}

/// Takes the profile that fits the most nodes; of equals, the first one.
pub(crate) fn choose(application: &ApplicationDescription, nodes: &[Known<'_>]) -> Option<Choice> {
    let judged: Vec<(&Profile, usize, String)> =
        application.profiles.iter().map(|it| judge(it, nodes)).collect();
    let most = judged.iter().map(|it| it.1).max()?;
    let chosen = judged.iter().position(|it| it.1 == most)?;
    // The chosen one first; what fits everywhere needs no reason.
    let (before, rest) = judged.split_at(chosen);
    let ordered = rest.iter().take(1).chain(before).chain(rest.iter().skip(1));
    let reasons = ordered.filter(|it| it.1 < nodes.len()).map(|it| it.2.clone()).collect();
    Some(Choice { profile: judged[chosen].0.id.clone(), reasons })
}

fn judge<'a>(profile: &'a Profile, nodes: &[Known<'_>]) -> (&'a Profile, usize, String) {
    let misfits: Vec<String> = nodes.iter().filter_map(|it| misfit(profile, it)).collect();
    let fits = nodes.len() - misfits.len();
    let mut sentence =
        format!("profile `{}` fits {fits} of {} known nodes", profile.id, nodes.len());
    if let Some(first) = misfits.first() {
        sentence = format!("{sentence}: {first}{}", and_more(misfits.len() - 1));
    }
    (profile, fits, sentence)
}

/// Why a node cannot run a profile, if it cannot.
pub(crate) fn misfit(profile: &Profile, node: &Known<'_>) -> Option<String> {
    if !node.capabilities.supports(&profile.kind) {
        return Some(format!("{} does not run {}", node.name, profile.kind));
    }
    let mismatches = profile.constraints.as_ref()?.evaluate(node.capabilities).err()?;
    let mismatches: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    Some(format!("{} {}", node.name, mismatches.join("; ")))
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_that_fits_the_most_nodes_is_chosen_with_reasons_for_what_does_not_fit() {
        check("amd64 amd64", "big", "profile `small` fits 0 of 2 known nodes: n1 needs");
        check("arm64 arm64 amd64", "small", "profile `small` fits 2 of 3 known nodes: n3 needs");
    }

    #[test]
    fn without_nodes_the_first_profile_is_taken() {
        check("", "big", "");
    }

    #[track_caller]
    fn check(architectures: &str, profile: &str, reason: &str) {
        let application = ApplicationDescription::parse(TEXT.as_bytes()).expect("valid").value;
        let nodes: Vec<(String, Capabilities)> = architectures
            .split_whitespace()
            .enumerate()
            .map(|(at, it)| (format!("n{}", at + 1), colony_testkit::capabilities("n", it, "")))
            .collect();
        let known: Vec<Known<'_>> =
            nodes.iter().map(|(name, capabilities)| Known { name, capabilities }).collect();
        let choice = choose(&application, &known).expect("a profile");
        assert_eq!(choice.profile, profile);
        let first = choice.reasons.first().map_or("", String::as_str);
        assert!(first.starts_with(reason), "{:?}", choice.reasons);
        assert_eq!(first.is_empty(), reason.is_empty(), "{:?}", choice.reasons);
    }

    const TEXT: &str = "
apiVersion: v1
id: pump
metadata:
  name: Pump
  version: '1.0'
  catalog: {organization: [{name: Example}]}
deploymentProfiles:
  - id: big
    type: compose
    components: [{name: web, properties: {repository: 'oci://r.test/p', revision: '1.0.0'}}]
    deviceConstraints: {capacityRequirements: {cpu: {cores: 1, architectures: [amd64]}}}
  - id: small
    type: compose
    components: [{name: web, properties: {repository: 'oci://r.test/p', revision: '1.0.0'}}]
    deviceConstraints: {capacityRequirements: {cpu: {cores: 1, architectures: [arm64]}}}
";
}

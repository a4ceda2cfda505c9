//! Which profile of an application is deployed.

use colony_margo::description::Profile;
use colony_margo::{ApplicationDescription, Capabilities};

/// The profile that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileChoice {
    pub profile: String,
    /// Which of the known nodes it does not fit, if any.
    pub warning: Option<String>,
}

/// Chooses the profile that fits the most nodes, each given by name and
/// capabilities; of equals, the first one.
pub fn choose_profile(
    application: &ApplicationDescription,
    nodes: &[(String, Capabilities)],
) -> Option<ProfileChoice> {
    let misfits = |profile: &Profile| -> Vec<String> {
        nodes.iter().filter_map(|(name, it)| misfit(profile, name, it)).collect()
    };
    // The first profile with the fewest misfits.
    let judged = application.profiles.iter().map(|it| (it, misfits(it)));
    let (profile, misfits) = judged.min_by_key(|it| it.1.len())?;
    let (fits, of) = (nodes.len() - misfits.len(), nodes.len());
    let warning = misfits.first().map(|first| {
        let more = match misfits.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        format!("profile `{}` fits {fits} of {of} known nodes: {first}{more}", profile.id)
    });
    Some(ProfileChoice { profile: profile.id.clone(), warning })
}

/// Why a node cannot run a profile, if it cannot.
fn misfit(profile: &Profile, name: &str, node: &Capabilities) -> Option<String> {
    if !node.supports(&profile.kind) {
        return Some(format!("{name} does not run {}", profile.kind));
    }
    let mismatches = profile.constraints.as_ref()?.evaluate(node).err()?;
    let mismatches: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    Some(format!("{name} {}", mismatches.join("; ")))
}

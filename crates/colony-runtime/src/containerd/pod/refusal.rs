//! Why containerd did not make or remove a pod, in words of the machine: its own
//! name the part of it that failed, not what is to be done.

use crate::containers::engine_error::EngineError;

/// Parts of containerd's messages, and what they mean.
const MEANINGS: [(&str, &str); 5] = [
    ("cni plugin not initialized", NO_NETWORK),
    ("no network config found", NO_NETWORK),
    ("setup network for sandbox", WRONG_NETWORK),
    ("destroy network for sandbox", WRONG_NETWORK),
    (
        "get sandbox image",
        "containerd cannot get the image of its pods: load it, or set `sandbox_image` in its configuration",
    ),
];
const WRONG_NETWORK: &str =
    "the CNI network of containerd does not work: correct the configuration in its `conf_dir`";
const NO_NETWORK: &str = "no CNI network is configured for containerd: put a configuration into its `conf_dir`, such as /etc/cni/net.d";

/// All of them are about the machine, whatever their code.
pub(in crate::containerd) fn explained(trouble: EngineError) -> EngineError {
    let EngineError::Rejected { message, status } = trouble else { return trouble };
    let meaning = MEANINGS.iter().find(|it| message.contains(it.0));
    match meaning {
        Some((_, meaning)) => {
            EngineError::Rejected { status: 500, message: format!("{meaning} ({message})") }
        }
        None => EngineError::Rejected { status, message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_and_an_image_of_the_machine_are_named() {
        check("failed to setup network for sandbox \"1\": cni plugin not initialized", NO_NETWORK);
        check(
            "failed to setup network for sandbox \"1\": plugin type=\"x\" failed",
            "does not work",
        );
        check("failed to destroy network for sandbox \"1\": no plugin", "does not work");
        check("failed to get sandbox image \"r/pause:3.6\": not found", "`sandbox_image`");
        check("something else", "something else");
    }

    #[track_caller]
    fn check(message: &str, expected: &str) {
        let message = message.to_owned();
        let explained = explained(EngineError::Rejected { status: 404, message }).to_string();
        assert!(explained.contains(expected), "{explained}");
    }
}

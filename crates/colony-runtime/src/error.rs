//! Why there is no engine to work with.

use std::io;
use std::path::PathBuf;

/// Why a runtime could not be made, or does not answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no container engine answers; tried {}", .tried.join(", "))]
    NoEngine {
        /// Each address with its result.
        tried: Vec<String>,
    },
    #[error("could not talk to the engine at {address}")]
    Engine {
        address: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("could not prepare the folder {}", .path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

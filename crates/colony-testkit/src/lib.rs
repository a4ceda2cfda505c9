//! Builders for tests: documents, capabilities, and a site driven by hand.
//!
//! `Plant` drives a `Site` through its public interface the way a local
//! orchestrator does: every step's rows are kept, so that a test can crash the
//! orchestrator at any point and continue from the persisted rows.

mod answer;
mod make;
mod plant;
mod projection;
mod seed;

pub use answer::{is_open, is_vague};
pub use make::{App, blob, capabilities, commit_id, deployment_id};
pub use plant::{Plant, mark, status};
pub use projection::{answer_difference, projection_difference, site_answers};
pub use seed::seed;

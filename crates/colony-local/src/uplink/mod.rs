//! What the site says to the central orchestrator, and hears from it.
//!
//! Everything here may be away for days: events wait in the site's log, and
//! the rest is told anew when CO is back.

mod events;
mod hints;
mod renew;
mod report;
mod seed;

pub(crate) use events::Forward;
pub(crate) use hints::Listen;
pub(crate) use renew::Renew;
pub(crate) use report::{About, Report, nodes_report};
pub(crate) use seed::Seeding;

use colony_core::site::Input;

use crate::brain::Brain;
use crate::central::CentralError;
use crate::health::Health;

/// Notes what CO's answer says of CO itself, and of this orchestrator.
async fn heed<T>(
    brain: &Brain,
    health: &Health,
    answer: Result<T, CentralError>,
) -> anyhow::Result<T> {
    match answer {
        Ok(answer) => {
            if health.central_answered() {
                // Whoever waits for its next try need not.
                brain.wakes().events.wake();
                brain.wakes().nodes.wake();
            }
            Ok(answer)
        }
        Err(error) => {
            if let CentralError::Fenced { by } = error {
                brain.step(Input::Fenced { by }).await?;
            }
            let away = error.is_away();
            let error = anyhow::Error::new(error);
            if away {
                health.central_failed(&error);
            }
            Err(error)
        }
    }
}

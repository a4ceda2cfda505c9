//! The connection between the site and the central orchestrator.
//!
//! Central may be unreachable for days: events wait in the site's log, and
//! everything else is sent again when it is back.

pub(crate) mod central;
mod events;
mod hints;
pub(crate) mod prune;
mod renew;
mod report;
mod seed;

pub(crate) use events::EventForwarder;
pub(crate) use hints::Listen;
pub(crate) use renew::Renew;
pub(crate) use report::{About, Report, nodes_report};
pub(crate) use seed::Seeding;

use colony_core::site::Input;

use crate::brain::Brain;
use crate::health::Health;
use crate::uplink::central::CentralError;

/// Records what the result says about central, and whether this orchestrator is
/// fenced.
async fn record_result<T>(
    brain: &Brain,
    health: &Health,
    answer: Result<T, CentralError>,
) -> anyhow::Result<T> {
    match answer {
        Ok(answer) => {
            if health.central_answered() {
                // Tasks that wait for their next try can continue at once.
                brain.notifiers().events.wake();
                brain.notifiers().nodes.wake();
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

//! Waiting for what a service depends on.

use std::time::Duration;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::node::{Health, Status};
use tokio::time::{timeout, timeout_at};

use crate::compose::Condition;
use crate::containers::component::work::Work;
use crate::containers::engine::ContainerEngine;
use crate::containers::survey::ObservedContainer;

/// The interval of looks without a notification.
const PATROL: Duration = Duration::from_secs(1);
const LOG_LINES: u32 = 20;

impl ContainerEngine {
    /// Waits until `service` meets the condition, or no longer can.
    pub(crate) async fn await_condition(
        &self,
        work: &Work<'_>,
        service: &str,
        condition: Condition,
    ) -> Result<(), Failure> {
        if condition == Condition::Started {
            return Ok(());
        }
        let mut news = self.news.follow();
        loop {
            news.mark_unchanged();
            if self.is_met(work, service, condition).await? {
                return Ok(());
            }
            let next = timeout(PATROL, news.changed());
            if timeout_at(work.deadline, next).await.is_err() {
                let message = format!("service `{service}` did not become {}", wanted(condition));
                return Err(Failure::new(Code::ComponentTimeout, message));
            }
        }
    }

    async fn is_met(
        &self,
        work: &Work<'_>,
        service: &str,
        condition: Condition,
    ) -> Result<bool, Failure> {
        let gone = || {
            Failure::new(
                Code::Interference,
                format!("the container of service `{service}` is gone"),
            )
        };
        let id = work.place(service).ok_or_else(gone)?.id;
        let seen = self.api.inspect(&id).await;
        let seen = seen.map_err(|it| it.failed(&format!("look at `{service}`")))?;
        let seen = seen.and_then(ObservedContainer::of).ok_or_else(gone)?;
        match check_condition(condition, seen.status, &self.health_of(&seen)) {
            Ok(met) => Ok(met),
            Err((code, why)) => {
                let log = self.tail(&id, LOG_LINES).await.unwrap_or_default();
                let message = format!("service `{service}` {why}");
                Err(Failure { log, ..Failure::new(code, message) })
            }
        }
    }
}

fn check_condition(
    condition: Condition,
    status: Status,
    health: &Health,
) -> Result<bool, (Code, String)> {
    match (condition, status) {
        (Condition::Started, _) | (Condition::Completed, Status::Exited { code: 0 }) => Ok(true),
        (_, Status::Exited { code }) => Err((Code::Exited, format!("exited with code {code}"))),
        (_, Status::Stopped) => Err((Code::Interference, "is being removed".to_owned())),
        (_, Status::Dead) => Err((Code::Exited, "was given up by the engine".to_owned())),
        (Condition::Completed, Status::Running | Status::Starting) => Ok(false),
        (Condition::Healthy, Status::Running | Status::Starting) => match health {
            Health::Healthy => Ok(true),
            Health::Starting => Ok(false),
            Health::Unhealthy { detail, .. } => {
                Err((Code::Unhealthy, format!("is unhealthy: {detail}")))
            }
            Health::None => {
                let why = "has no health check, but another service waits for it to be healthy";
                Err((Code::InvalidConfig, why.to_owned()))
            }
        },
    }
}

fn wanted(condition: Condition) -> &'static str {
    match condition {
        Condition::Started => "running",
        Condition::Healthy => "healthy in time",
        Condition::Completed => "complete in time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_met_or_not_or_cannot_be() {
        use Condition::{Completed, Healthy, Started};
        let exited = |code| Status::Exited { code };
        check(Started, exited(1), Health::None, "met");
        check(Completed, Status::Running, Health::None, "not yet");
        check(Completed, exited(0), Health::None, "met");
        check(Completed, exited(2), Health::None, "exited");
        check(Healthy, Status::Running, Health::Starting, "not yet");
        check(Healthy, Status::Running, Health::Healthy, "met");
        check(Healthy, Status::Running, Health::None, "invalid-config");
        check(Healthy, exited(0), Health::Healthy, "exited");
        let unhealthy = Health::Unhealthy { code: Code::Unhealthy, detail: "x".to_owned() };
        check(Healthy, Status::Running, unhealthy, "unhealthy");
        check(Healthy, Status::Dead, Health::Starting, "exited");
    }

    #[track_caller]
    fn check(condition: Condition, status: Status, health: Health, expected: &str) {
        let found = match check_condition(condition, status, &health) {
            Ok(true) => "met".to_owned(),
            Ok(false) => "not yet".to_owned(),
            Err((code, _)) => code.to_string(),
        };
        assert_eq!(found, expected, "{condition:?} {status:?} {health:?}");
    }
}

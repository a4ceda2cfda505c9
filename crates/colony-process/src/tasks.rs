//! The tasks of a role: all joined, none detached.

use anyhow::Context;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Tasks that live and end together.
#[derive(Debug)]
pub struct Tasks {
    set: JoinSet<(&'static str, anyhow::Result<()>)>,
    stop: CancellationToken,
}

impl Tasks {
    /// `stop` ends all of them; so does the end of any.
    pub fn new(stop: CancellationToken) -> Tasks {
        Tasks { set: JoinSet::new(), stop }
    }

    pub fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    pub fn spawn(
        &mut self,
        name: &'static str,
        task: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    ) {
        self.set.spawn(async move { (name, task.await) });
    }

    /// Waits for every task; returns the first error.
    pub async fn join(mut self) -> anyhow::Result<()> {
        let mut answer = Ok(());
        while let Some(ended) = self.set.join_next().await {
            self.stop.cancel();
            let result = match ended {
                Ok((name, result)) => result.with_context(|| format!("{name} ended")),
                Err(error) => Err(error).context("a task ended unexpectedly"),
            };
            answer = answer.and(result);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_to_fail_stops_the_others_and_is_the_answer() {
        let mut tasks = Tasks::new(CancellationToken::new());
        let stop = tasks.stop();
        tasks.spawn("waiting", async move {
            stop.cancelled().await;
            Ok(())
        });
        tasks.spawn("broken", async { anyhow::bail!("no disk") });

        let answer = tasks.join().await;

        assert_eq!(format!("{:#}", answer.expect_err("it failed")), "broken ended: no disk");
    }
}

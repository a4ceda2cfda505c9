//! What every engine must do, as one list of behaviours.
//!
//! The list runs on the real engines and on the engine of the simulator; the
//! table in `docs/engines.md` is printed from it. It uses the node's core and
//! `tokio` only, so that the tests of other crates can take it in by its path.

mod behaviour;
mod bench;
mod steps;
mod way;

pub(crate) use behaviour::{Behaviour, EngineColumn, Support};
pub(crate) use bench::{App, Bench, Damage, LinePage, Node, Version};

/// Runs every behaviour on the engine of `bench`, and compares what it does
/// with the published table.
pub(crate) async fn run_all<B: Bench>(bench: &mut B) {
    for behaviour in Behaviour::ALL {
        let engine = bench.engine();
        let done = match behaviour.support(engine) {
            Support::NotSimulated(_) => continue,
            Support::Yes | Support::Refuses { .. } => way::run(behaviour, bench).await,
        };
        match (behaviour.support(engine), done) {
            (Support::Yes, Ok(())) => {}
            (Support::Refuses { code, reason }, Err(failure)) => {
                let found = (failure.code, failure.message.as_str());
                assert_eq!(found, (code, reason), "{engine:?}: {}", behaviour.name());
            }
            (published, done) => {
                panic!("{engine:?}: {}: {published:?}, but {done:?}", behaviour.name())
            }
        }
    }
}

//! How each behaviour is shown. `Err` is a refusal of the engine.

use std::collections::BTreeSet;

use colony_core::attempt::Failure;
use colony_core::code::Code;
use colony_core::node::{Container, Health, Status, staged};

use super::steps::{
    clear, deployments, install, is_healthy, look, prepare, remove, replace, restart, runs, stage,
    start, unstage, until, until_available,
};
use super::{App, Behaviour, Bench, Node, Version};

pub(super) async fn run<B: Bench>(behaviour: Behaviour, bench: &mut B) -> Result<(), Failure> {
    match behaviour {
        Behaviour::Install => install_twice(bench).await,
        Behaviour::Adopt => adopt(bench).await,
        Behaviour::Update => update(bench).await,
        Behaviour::WayBack => way_back(bench).await,
        Behaviour::HealthByExec => health_by_exec(bench).await,
        Behaviour::Drift => drift(bench).await,
        Behaviour::Logs => logs(bench).await,
        Behaviour::StageAndSwap => stage_and_swap(bench).await,
        Behaviour::Removal => removal(bench).await,
        Behaviour::CleanUp => clean_up(bench).await,
        Behaviour::EngineAway => engine_away(bench).await,
        Behaviour::SharedEngine => shared_engine(bench).await,
    }
}

async fn install_twice<B: Bench>(bench: &B) -> Result<(), Failure> {
    let (node, app) = (bench.node(), bench.publish("install", Version::One));
    let services = prepare(node, &app).await?.services;
    assert!(!services.is_empty());
    assert!(look(node, &app, false).await?.is_empty(), "preparing starts nothing");
    let first = install(node, &app).await?;
    assert!(first.values().all(|it| it.fingerprint == app.fingerprint));
    let again = restart(node, &app, &first).await?;
    assert_eq!(runs(bench, &again), runs(bench, &first), "nothing is restarted");
    remove(node, &app).await.map(drop)
}

async fn adopt<B: Bench>(bench: &mut B) -> Result<(), Failure> {
    let app = bench.publish("adopt", Version::One);
    let first = install(bench.node(), &app).await?;
    bench.restart_node().await;
    let services = first.keys().cloned().collect();
    let healthy = |it: &_| is_healthy(it, &services);
    let adopted = until(bench.node(), &app, false, "adopted", healthy).await?;
    assert_eq!(runs(bench, &adopted), runs(bench, &first));
    let again = restart(bench.node(), &app, &first).await?;
    assert_eq!(runs(bench, &again), runs(bench, &first));
    remove(bench.node(), &app).await.map(drop)
}

async fn update<B: Bench>(bench: &B) -> Result<(), Failure> {
    let [one, two] = [Version::One, Version::Two].map(|it| bench.publish("update", it));
    install(bench.node(), &one).await?;
    let seen = replace(bench.node(), &two).await?;
    assert!(seen.values().all(|it| it.fingerprint == two.fingerprint));
    remove(bench.node(), &two).await.map(drop)
}

async fn way_back<B: Bench>(bench: &B) -> Result<(), Failure> {
    let node = bench.node();
    let [good, bad] = [Version::One, Version::Exits].map(|it| bench.publish("back", it));
    install(node, &good).await?;
    prepare(node, &bad).await?;
    clear(node, &bad).await?;
    start(node, &bad).await?;
    until(node, &bad, false, "failed", |it| it.values().any(|it| has_exited(it, &bad))).await?;
    let seen = replace(node, &good).await?;
    assert!(seen.values().all(|it| it.fingerprint == good.fingerprint));
    remove(node, &good).await.map(drop)
}

fn has_exited(container: &Container, app: &App) -> bool {
    let exited = matches!(container.status, Status::Exited { code } if code != 0)
        || matches!(container.health, Health::Unhealthy { code: Code::Exited, .. });
    exited && container.fingerprint == app.fingerprint
}

async fn health_by_exec<B: Bench>(bench: &B) -> Result<(), Failure> {
    let (node, app) = (bench.node(), bench.publish("check", Version::One));
    let first = install(node, &app).await?;
    bench.break_check(&app);
    let services = first.keys().cloned().collect();
    let sick = until(node, &app, false, "unhealthy", |it| !is_healthy(it, &services)).await?;
    assert!(sick.values().all(|it| it.status == Status::Running), "{sick:#?}");
    assert_eq!(runs(bench, &sick), runs(bench, &first), "the engine does not restart it");
    remove(node, &app).await.map(drop)
}

async fn drift<B: Bench>(bench: &B) -> Result<(), Failure> {
    let (node, app) = (bench.node(), bench.publish("drift", Version::One));
    let first = install(node, &app).await?;
    let services: BTreeSet<String> = first.keys().cloned().collect();
    for how in bench.damages() {
        bench.damage(&app, *how);
        until(node, &app, false, "damaged", |it| !is_healthy(it, &services)).await?;
        restart(node, &app, &first).await?;
    }
    remove(node, &app).await.map(drop)
}

async fn logs<B: Bench>(bench: &B) -> Result<(), Failure> {
    let (node, app) = (bench.node(), bench.publish("logs", Version::One));
    install(node, &app).await?;
    let expected: Vec<String> = (1..=5).map(|it| format!("one {it}")).collect();
    let (mut lines, mut position) = (Vec::new(), String::new());
    while lines.len() < expected.len() {
        let page = node.lines(&app, &position, 2).await;
        assert!(page.lines.len() <= 2, "{page:?}");
        (lines, position) = ([lines, page.lines].concat(), page.position);
        assert!(expected.starts_with(&lines), "{lines:?}");
    }
    let rest = node.lines(&app, &position, 2).await;
    assert!(rest.lines.is_empty(), "{rest:?}");
    remove(node, &app).await.map(drop)
}

async fn stage_and_swap<B: Bench>(bench: &B) -> Result<(), Failure> {
    let node = bench.node();
    let [one, two] = [Version::One, Version::Two].map(|it| bench.publish("swap", it));
    let first = install(node, &one).await?;
    let services: BTreeSet<String> = prepare(node, &two).await?.services;
    let swapped = async {
        stage(node, &two).await?;
        let healthy = |it: &_| is_healthy(it, &services);
        let beside = until(node, &two, true, "staged", healthy).await?;
        assert!(beside.values().all(|it| it.fingerprint == staged(two.fingerprint)));
        assert_eq!(runs(bench, &look(node, &one, false).await?), runs(bench, &first));
        replace(node, &two).await?;
        unstage(node, &two).await?;
        assert!(look(node, &two, true).await?.is_empty(), "nothing staged is left");
        let active = until(node, &two, false, "healthy", healthy).await?;
        assert!(active.values().all(|it| it.fingerprint == two.fingerprint));
        Ok(())
    };
    let swapped = swapped.await;
    if swapped.is_err() {
        let kept = look(node, &one, false).await?;
        assert_eq!(runs(bench, &kept), runs(bench, &first), "a refusal changes nothing");
    }
    remove(node, &two).await?;
    swapped
}

async fn removal<B: Bench>(bench: &B) -> Result<(), Failure> {
    let (node, app) = (bench.node(), bench.publish("removal", Version::One));
    install(node, &app).await?;
    assert_ne!(bench.remains(&app), Vec::<String>::new(), "this test sees what there is");
    remove(node, &app).await?;
    assert!(look(node, &app, false).await?.is_empty());
    assert_eq!(bench.remains(&app), Vec::<String>::new());
    remove(node, &app).await.map(drop)
}

async fn clean_up<B: Bench>(bench: &B) -> Result<(), Failure> {
    let (node, app) = (bench.node(), bench.publish("clean", Version::One));
    prepare(node, &app).await?;
    node.collect(&BTreeSet::from([app.fingerprint])).await?;
    assert!(bench.is_fetched(&app), "what is needed stays");
    install(node, &app).await?;
    remove(node, &app).await?;
    node.collect(&BTreeSet::new()).await?;
    assert!(!bench.is_fetched(&app), "what nothing needs goes");
    Ok(())
}

async fn engine_away<B: Bench>(bench: &mut B) -> Result<(), Failure> {
    let app = bench.publish("away", Version::One);
    let first = install(bench.node(), &app).await?;
    bench.stop_engine();
    let node = bench.node();
    let seen = look(node, &app, false).await.unwrap_err();
    let started = start(node, &app).await.unwrap_err();
    let away = (Code::EngineUnavailable, Code::EngineUnavailable);
    assert_eq!((seen.code, started.code), away, "{} / {}", seen.message, started.message);

    bench.start_engine();
    let node = bench.node();
    // An engine that answers may still be starting, and a node tries again.
    until_available(node, &app).await?;
    restart(node, &app, &first).await?;
    let services: BTreeSet<String> = first.keys().cloned().collect();
    bench.damage(&app, bench.damages()[0]);
    until(node, &app, false, "damaged", |it| !is_healthy(it, &services)).await?;
    restart(node, &app, &first).await?;
    remove(node, &app).await.map(drop)
}

async fn shared_engine<B: Bench>(bench: &B) -> Result<(), Failure> {
    let (node, other) = (bench.node(), bench.other_node().await);
    let [own, theirs] = ["ours", "theirs"].map(|it| bench.publish(it, Version::One));
    install(node, &own).await?;
    let first = install(&other, &theirs).await?;
    assert_eq!(deployments(node).await?, BTreeSet::from([own.id()]));
    assert_eq!(deployments(&other).await?, BTreeSet::from([theirs.id()]));

    remove(node, &theirs).await?;
    remove(node, &own).await?;
    let kept = look(&other, &theirs, false).await?;
    assert_eq!(runs(bench, &kept), runs(bench, &first), "what is another node's is left alone");
    remove(&other, &theirs).await.map(drop)
}

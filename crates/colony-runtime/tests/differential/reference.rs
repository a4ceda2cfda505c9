//! Docker Compose, as the reference.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use colony_runtime::compose::Archive;
use serde_json::{Map, Value};
use tempfile::TempDir;

use crate::case::{self, Case, Mode};
use crate::colony::{clear, inspected};
use crate::compare::{self, Containers};
use crate::kit::image::compose_archive;
use crate::world::World;

#[derive(Debug)]
pub(crate) struct Compose(PathBuf);

/// A file that `scripts/lib/compose.sh` fetches.
pub(crate) fn cached(path: &str) -> PathBuf {
    let variable = |it: &str| std::env::var_os(it).map(PathBuf::from);
    let cache = variable("COLONY_CACHE").unwrap_or_else(|| {
        let usual = || variable("HOME").unwrap_or_default().join(".cache");
        variable("XDG_CACHE_HOME").unwrap_or_else(usual).join("colony")
    });
    cache.join("compose-2.40.3").join(path)
}

impl Compose {
    /// `None` where it was not fetched yet.
    pub(crate) fn find() -> Option<Compose> {
        let program = cached("bin/docker-compose");
        if !program.is_file() {
            println!("not run: Docker Compose is not there; make test-engines fetches it");
            return None;
        }
        Some(Compose(program))
    }

    /// The program for a file, in a folder of its own.
    fn command(
        &self,
        folder: &Path,
        socket: Option<&Path>,
        case: &Case,
        arguments: &[&str],
    ) -> Command {
        let mut command = Command::new(&self.0);
        command.current_dir(folder).env_clear().env("HOME", folder);
        command.envs(case.parameters.iter().map(|it| (&it.0, &it.1)));
        if let Some(socket) = socket {
            command.env("DOCKER_HOST", format!("unix://{}", socket.display()));
        }
        command.args(["-p", &case.name]).args(arguments);
        command
    }
}

fn run(mut command: Command) -> Result<Vec<u8>, String> {
    let output = command.output().unwrap();
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn written(case: &Case, image: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("conf")).unwrap();
    for name in case::FILES {
        std::fs::write(dir.path().join(name), case::file(name)).unwrap();
    }
    let text = case.text.replace("IMAGE", image);
    std::fs::write(dir.path().join("compose.yaml"), text).unwrap();
    dir
}

/// The containers that it makes of a file, by service and number.
pub(crate) async fn containers(
    world: &World,
    compose: &Compose,
    case: &Case,
) -> Result<Containers, String> {
    let folder = written(case, &format!("{}/busybox:1", world.registry.host));
    let verbs: &[&str] =
        if case.mode == Mode::Started { &["up", "-d", "--quiet-pull"] } else { &["create"] };
    let command = compose.command(folder.path(), Some(&world.engine.socket), case, verbs);
    let made = tokio::task::spawn_blocking(move || run(command)).await.unwrap();
    let label = format!("com.docker.compose.project={}", case.name);
    let found = made.map(|_| inspected(&world.engine, &label));
    clear(&world.engine, &label);
    let prefix = format!("{}_", case.name);
    Ok(found?.into_iter().map(|it| named(it, &prefix)).collect())
}

fn named(container: Value, prefix: &str) -> ((String, u32), Value) {
    let label = |it: &str| {
        let labels = &container["Config"]["Labels"];
        labels[format!("com.docker.compose.{it}")].as_str().unwrap().to_owned()
    };
    let place = (label("service"), label("container-number").parse().unwrap());
    let networks = container["NetworkSettings"]["Networks"].as_object().unwrap().keys();
    let volumes =
        container["Mounts"].as_array().unwrap().iter().filter_map(|it| it["Name"].as_str());
    let called = networks.map(String::as_str).chain(volumes);
    let ours = called.filter_map(|it| Some((it.to_owned(), it.strip_prefix(prefix)?.to_owned())));
    let names: BTreeMap<String, String> = ours.collect();
    (place, compare::plain(container, &names))
}

/// Whether colony reads the file and its canonical form as one project.
pub(crate) fn misread(compose: &Compose, case: &Case) -> Result<(), String> {
    let folder = written(case, "busybox:1");
    let printed = run(compose.command(folder.path(), None, case, &["config", "--format", "json"]))?;
    let mut canonical: Value = serde_json::from_slice(&printed).unwrap();
    without_names(&mut canonical, folder.path());
    let original = project(case, &case.text.replace("IMAGE", "busybox:1"))?;
    let canonical = project(case, &canonical.to_string())?;
    let found = compare::difference(&original, &canonical);
    if found.is_empty() { Ok(()) } else { Err(format!("{}: {found:#?}", case.name)) }
}

fn project(case: &Case, text: &str) -> Result<Value, String> {
    let others = case::FILES.map(|it| (it, case::file(it)));
    let mut files = vec![("compose.yaml", text)];
    files.extend(others.iter().map(|it| (it.0, it.1.as_str())));
    let archive = Archive::unpack(&compose_archive(&files)).unwrap();
    let project = archive.project(&case.parameters.iter().cloned().collect());
    let project = project.map_err(|it| {
        let lines: String = it.iter().map(|it| format!("\n  {it}")).collect();
        format!("{}: {lines}\n{text}", case.name)
    })?;
    let mut project = serde_json::to_value(project).unwrap();
    // Compose leaves out what no service with a container uses.
    for section in ["networks", "volumes", "configs", "secrets"] {
        project.as_object_mut().unwrap().remove(section);
    }
    for service in project["services"].as_object_mut().unwrap().values_mut() {
        let hosts = service["extra_hosts"].as_array_mut().unwrap();
        hosts.sort_by_key(Value::to_string);
    }
    Ok(project)
}

/// Takes out what the reference adds: names on the engine, absolute paths of
/// packaged files, what only a swarm has, and numbers in place of permissions.
fn without_names(file: &mut Value, folder: &Path) {
    let root = file.as_object_mut().unwrap();
    root.remove("name");
    for section in ["networks", "volumes", "configs", "secrets"] {
        let entries = root.get_mut(section).and_then(Value::as_object_mut);
        for entry in entries.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut)
        {
            if entry.get("external").is_none() {
                entry.remove("name");
            }
            if let Some(path) = entry.get("file").and_then(Value::as_str) {
                let path = Path::new(path).strip_prefix(folder).unwrap().to_owned();
                entry.insert("file".to_owned(), path.to_string_lossy().into());
            }
        }
    }
    let services = root.get_mut("services").and_then(Value::as_object_mut).unwrap();
    for service in services.values_mut() {
        let ports = service.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
            port.remove("mode");
        }
        if let Some(deploy) = service.get_mut("deploy").and_then(Value::as_object_mut) {
            deploy.remove("placement");
        }
        if let Some(block_io) = service.get_mut("blkio_config") {
            *block_io = serde_json::from_str(&lower_keys(&block_io.to_string())).unwrap();
        }
        let mounts = service.get_mut("volumes").and_then(Value::as_array_mut);
        for mount in mounts.into_iter().flatten() {
            if let Some(mode) = mount.pointer_mut("/tmpfs/mode") {
                *mode = format!("0{:o}", mode.as_u64().unwrap()).into();
            }
            // It prints `true`, also where the file says nothing.
            if let Some(bind) = mount.get_mut("bind").and_then(Value::as_object_mut) {
                bind.entry("create_host_path").or_insert(false.into());
            }
        }
    }
}

/// The reference prints these keys as its own code has them.
fn lower_keys(text: &str) -> String {
    ["Path", "Rate", "Weight"].iter().fold(text.to_owned(), |text, key| {
        text.replace(&format!("\"{key}\":"), &format!("\"{}\":", key.to_ascii_lowercase()))
    })
}

//! The commands of a script.

use std::time::Duration;

use colony_margo::{DeploymentId, Digest};
use serde_json::{Value, json};

use crate::code::Code;
use crate::event::VERSION_BITS;
use crate::node::tests::kit::fake::{Behaviour, Fake};
use crate::node::tests::kit::world::World;
use crate::node::{Health, Input, Status};

/// Carries out one command.
pub(in crate::node::tests) fn run(world: &mut World, command: &str) {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words.as_slice() {
        ["run", seconds] => world.run(seconds.parse().expect("seconds")),
        ["deploy", name, rest @ ..] => deploy(world, name, rest),
        ["also", name, rest @ ..] => also(world, name, rest),
        ["undeploy", name] => {
            world.desired.remove(&id_of(name));
            world.publish();
        }
        ["purge", name] => {
            world.desired.remove(&id_of(name));
            world.purges.insert(id_of(name));
            world.publish();
        }
        ["discard", name] => {
            world.desired.remove(&id_of(name));
            world.discards.insert(id_of(name));
            world.publish();
        }
        ["ask", name] => _ = world.feed(Input::ReportsRequested(vec![id_of(name)])),
        ["incarnation", number] => {
            let number: u64 = number.parse().expect("a number");
            world.version = number << VERSION_BITS;
            world.publish();
        }
        ["wall", millis] => world.now.wall.0 = millis.parse().expect("milliseconds"),
        [title, "is", behaviour] => behave(world, title, behaviour),
        [title, "becomes", state] => become_(world, title, state),
        ["reboot"] => world.boot(),
        ["blackout"] => {
            for fake in world.engine.values_mut() {
                fake.status = Status::Exited { code: 137 };
            }
            world.boot();
        }
        ["stranger", name] => stranger(world, name),
        ["wipe"] => world.disk.clear(),
        [
            switch @ ("registry" | "engine" | "cluster" | "removal" | "manager" | "actions"),
            state,
        ] => {
            let off = *state == "off";
            match *switch {
                "registry" => world.registry_down = off,
                "engine" => world.engine_down = off,
                "cluster" => world.cluster_down = off,
                "removal" => world.removal_fails = off,
                "actions" => world.hung = off,
                _ => world.deaf = off,
            }
        }
        _ => panic!("`{command}` is not a command"),
    }
}

/// Publishes a deployment: `deploy a web@1 db@2 attempt=2`.
fn deploy(world: &mut World, name: &str, words: &[&str]) {
    also(world, name, words);
    world.publish();
}

/// As `deploy`, to be published with the next.
fn also(world: &mut World, name: &str, words: &[&str]) {
    let id = id_of(name);
    let text = match words {
        ["broken"] => "id: [".to_owned(),
        ["stolen"] => document(&id_of("z"), &["web@1"]),
        _ => document(&id, words),
    };
    world.desired.insert(id, text.into_bytes());
}

/// A document with these components: `web@1`, `web@1/nowait`, `web@1/0m30s`;
/// `phase=stage` has it staged.
pub(in crate::node::tests) fn document(id: &DeploymentId, words: &[&str]) -> String {
    let option = |key: &str| words.iter().find_map(|it| it.strip_prefix(&format!("{key}=")));
    let components: Vec<Value> =
        words.iter().filter(|it| it.contains('@')).map(|it| component(it)).collect();
    let names: Vec<&Value> = components.iter().map(|it| &it["name"]).collect();
    let attempt: u64 = option("attempt").unwrap_or("1").parse().expect("a number");
    let mut document = json!({
        "id": id,
        "metadata": {
            "name": "pumps", "namespace": "n", "deviceId": option("device").unwrap_or("press-1"),
        },
        "spec": {
            "applicationId": "pumps",
            "deploymentProfile": {
                "type": option("type").unwrap_or("compose"),
                "components": components,
            },
            "parameters": {},
            "x-colony-extensions": { "attempt": attempt, "phase": option("phase").unwrap_or("active") },
        },
    });
    if let Some(value) = option("setting") {
        let targets = json!([{ "pointer": "SETTING", "components": [names[0]] }]);
        document["spec"]["parameters"]["setting"] = json!({ "value": value, "targets": targets });
    }
    if let Some(hall) = option("hall") {
        let expression = json!({ "key": "hall", "operator": "In", "values": [hall] });
        let rule = json!({ "labelSelector": { "matchExpressions": [expression] } });
        document["spec"]["deploymentProfile"]["deviceConstraints"] =
            json!({ "eligibilityRules": [rule] });
    }
    document.to_string()
}

fn component(word: &str) -> Value {
    let (title, option) = word.split_once('/').unwrap_or((word, ""));
    let (name, revision) = title.split_once('@').expect("name@revision");
    let mut properties = json!({
        "repository": format!("oci://registry.example.com/{name}"),
        "revision": format!("{revision}.0.0"),
    });
    match option {
        "" => {}
        "nowait" => properties["wait"] = json!(false),
        timeout => properties["timeout"] = json!(timeout),
    }
    json!({ "name": name, "properties": properties })
}

fn behave(world: &mut World, title: &str, behaviour: &str) {
    let behaviour = match behaviour {
        "fine" => Behaviour::Fine,
        "checked" => Behaviour::Checked,
        "unhealthy" => Behaviour::Unhealthy,
        "slow" => Behaviour::Slow,
        "exiting" => Behaviour::Exits,
        "missing" => Behaviour::NoImage,
        "corrected" => {
            world.corrected.insert(title.to_owned());
            Behaviour::Fine
        }
        "unstartable" => Behaviour::NoStart,
        other => panic!("`{other}` is not a behaviour"),
    };
    world.behaviours.insert(title.to_owned(), behaviour);
}

fn become_(world: &mut World, title: &str, state: &str) {
    if state == "gone" {
        world.engine.retain(|_, it| it.title != title);
    }
    for fake in world.engine.values_mut().filter(|it| it.title == title) {
        match state {
            "exited" => fake.status = Status::Exited { code: 1 },
            "stopped" => fake.status = Status::Stopped,
            "healthy" => fake.health = Health::Healthy,
            "unhealthy" => {
                fake.health = Health::Unhealthy { code: Code::Unhealthy, detail: "503".to_owned() }
            }
            other => panic!("`{other}` is not a state"),
        }
    }
    world.now.mono = world.now.mono.after(Duration::from_millis(1));
    world.look();
}

/// A container of a deployment that no manifest lists.
fn stranger(world: &mut World, name: &str) {
    let component = "web".parse().expect("a name");
    let place = (id_of(name), component, Digest::of(b"stranger"), "main".to_owned(), false);
    let title = "web@0".to_owned();
    let fake = Fake { title, run: 0, status: Status::Running, health: Health::None };
    world.engine.insert(place, fake);
}

pub(in crate::node::tests) fn id_of(name: &str) -> DeploymentId {
    DeploymentId::from_bytes([name.as_bytes()[0]; 16])
}

/// The letter a deployment's id was made from.
pub(in crate::node::tests) fn name_of(id: &DeploymentId) -> String {
    let code = u8::from_str_radix(&id.as_str()[..2], 16).expect("hex digits");
    char::from(code).to_string()
}

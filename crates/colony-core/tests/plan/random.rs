//! Random sites and random files: the site does what the plan says.

use colony_core::site::Action;

use crate::kit::{World, app};

const NODES: [&str; 5] = ["a", "b", "c", "d", "e"];

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn settings(&mut self) -> String {
        let replicas = match self.roll(3) {
            0 => String::new(),
            _ => format!("replicas: {}\n", 1 + self.roll(5)),
        };
        let selector = match self.roll(4) {
            0 => "selector: {line: press}\n",
            1 => "selector: {line: paint}\n",
            _ => "",
        };
        let strategy = match self.roll(4) {
            0 => "strategy: {type: canary, canary: 1, soak: 0s}\n",
            1 => "strategy: {type: blue-green, soak: 0s}\n",
            2 => "strategy: {type: all-at-once}\n",
            _ => "",
        };
        format!("{replicas}{selector}{strategy}")
    }
}

#[test]
fn applied_plan_is_what_the_site_does() {
    for seed in 0..120 {
        let mut dice = Dice(seed);
        let mut world = World::new("a:line=press b:line=paint c:line=press d e:line=paint");
        for _ in 0..6 {
            disturb(&mut world, &mut dice);
            let version = format!("{}.0.0", 1 + dice.roll(3));
            let mut next = app(&version, &dice.settings());
            if dice.roll(8) == 0 {
                let node = dice.roll(5) as usize;
                next = next.on(NODES[node]);
            }
            let plan = world.plan(&next);
            world.apply(&next, &plan);
        }
    }
}

/// Nodes go and come, are cordoned or fail.
fn disturb(world: &mut World, dice: &mut Dice) {
    let node = NODES[dice.roll(5) as usize];
    let name = || node.parse().expect("a name");
    match dice.roll(6) {
        0 => world.plant.silence(node),
        1 => world.plant.wake(node),
        2 => drop(world.plant.command(Action::Cordon { node: name() })),
        3 => drop(world.plant.command(Action::Uncordon { node: name() })),
        _ => {}
    }
    world.plant.pass(20);
    world.sync();
}

//! Any sequence of inputs: nothing panics, and the invariants hold throughout.

use colony_core::id::NodeName;
use colony_core::site::SiteSettings;
use colony_core::time::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::happening::{Claim, Happening, Number, happening};
use crate::world::World;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_happens_the_site_stays_sound(happenings in vec(happening(), 1..40)) {
        let mut world = World::new();
        for it in happenings {
            world.happen(it);
        }
    }
}

#[test]
fn a_manifest_version_nobody_can_exceed_is_passed_over() {
    for version in [u64::MAX, 1 << 53, (1 << 53) - 1] {
        let mut world = World::new();
        let node = "a".parse().expect("a name");
        let have = Some(Claim { version: Number::Exactly(version), etag: None });
        world.happen(Happening::Heard { node, have });
        assert_eq!(world.version("a"), 1, "{version} was taken over");
    }
}

#[test]
fn steps_end_at_the_end_of_the_clock() {
    let mut world = World::new();
    let node: NodeName = "a".parse().expect("a name");
    for _ in 0..2 {
        world.happen(Happening::Pass { mono: u64::MAX, wall: 0, entropy: 0 });
        world.happen(Happening::Heard { node: node.clone(), have: None });
    }
}

#[test]
fn a_window_opens_even_at_the_end_of_time() {
    let windows = ["{from: '06:00', to: '06:01'}", "{from: '18:00', to: '18:01'}"];
    let opens = windows.map(|it| {
        let text = format!("maintenanceWindows:\n  - {it}\n");
        let settings = SiteSettings::parse(text.as_bytes()).expect("a valid file");
        settings.opens(Timestamp(u64::MAX))
    });
    assert!(opens.contains(&Some(Timestamp(u64::MAX))), "{opens:?}");
}

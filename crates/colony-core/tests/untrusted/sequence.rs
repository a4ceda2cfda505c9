//! Any sequence of inputs: nothing panics, and the invariants hold throughout.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::happening::happening;
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

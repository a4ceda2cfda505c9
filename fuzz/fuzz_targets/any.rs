//! Any target of colony-fuzz, by its name in `COLONY_FUZZ_TARGET`. One program
//! for all, because linking one per target takes longer than running them.
#![no_main]

use std::sync::LazyLock;

use colony_fuzz::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("COLONY_FUZZ_TARGET").unwrap_or_default();
    let known = || colony_fuzz::all().iter().map(|it| it.name).collect::<Vec<_>>().join(" ");
    colony_fuzz::find(&name)
        .unwrap_or_else(|| panic!("set COLONY_FUZZ_TARGET to one of: {}", known()))
});

fuzz_target!(|input: &[u8]| {
    (TARGET.run)(input);
});

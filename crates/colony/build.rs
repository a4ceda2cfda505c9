//! Tells the linker how a static program keeps the addresses it fills in when
//! it starts: as a bit each instead of three words, of which every page would
//! be read and stay in memory. A linker that does not know this says so and
//! goes on.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|it| it == "musl") {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

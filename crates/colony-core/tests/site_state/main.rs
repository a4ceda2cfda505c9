//! What a site reads, keeps and forgets: Git, orders, manifests, memory, clocks.

mod site_clock;
mod site_forgetting;
mod site_git;
mod site_manifest;
mod site_memory;
mod site_orders;
mod site_purge;
mod site_removals;
mod site_takeover;

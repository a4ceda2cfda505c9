//! How a site moves placements: choice of nodes, slots, guards, attempts, windows.

mod site_attempts;
mod site_choice;
mod site_gates;
mod site_guards;
mod site_refused;
mod site_rollout;
mod site_windows;

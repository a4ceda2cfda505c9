//! colony-sim

//! colony-core

//! colony-margo

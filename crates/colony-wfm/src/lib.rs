//! The Margo interface.

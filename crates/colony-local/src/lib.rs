//! The local orchestrator.

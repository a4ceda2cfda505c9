//! The central orchestrator.

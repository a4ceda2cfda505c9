//! The deployments repository.

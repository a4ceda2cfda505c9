//! Helm charts on Kubernetes.
//!
//! A component is a release of its chart. The program `helm` installs, updates
//! and removes releases, so that charts behave as their authors know them; the
//! API of the cluster says what is there. Helm's own records, the secrets of
//! releases, carry the labels of colony, so a node that restarts finds what it
//! installed.
//!
//! A release is observed as one container, its workloads as one each. An update
//! happens in place: what it replaces is marked and no longer observed.
//!
//! `values`, `release`, `manifest` and `workload` are pure.

mod api;
pub(crate) mod engine;
mod facts;
mod kube_error;
mod logs;
mod manifest;
mod observation;
mod program;
mod release;
mod values;
mod watch;
mod workload;

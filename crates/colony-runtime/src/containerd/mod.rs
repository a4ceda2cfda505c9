//! containerd through its Container Runtime Interface (CRI).
//!
//! Every service is a pod of its own with one container: an address of its own,
//! its ports of the host, its log file. What CRI leaves to its caller is done
//! here, in files below the node's folder (see `folder`): volumes, networks as
//! a list of names, the names of other services (`/etc/hosts`), rotation of
//! logs. CRI keeps all pods in one namespace of containerd, where a kubelet
//! removes those that it does not know: a containerd with a kubelet is refused.

mod api;
#[cfg(feature = "bench")]
pub(crate) mod bare;
mod client;
pub(crate) mod connect;
mod events;
mod folder;
mod grpc;
mod image;
mod output;
mod place;
mod pod;
mod probe;
mod stop;
mod wire;

//! Keys of Compose that are refused, each with the reason.

use super::{KeySection, Refused};

macro_rules! refused {
    ($($place:ident $name:literal $reason:literal, $instead:literal;)*) => {
        /// Every key of Compose that is refused, in the order of the published table.
        pub const REFUSED: &[Refused] =
            &[$(Refused { place: KeySection::$place, name: $name, reason: $reason, instead: $instead },)*];
    };
}

refused! {
    File "include" "a package holds one compose file", "all services in `compose.yaml`";
    File "models" "colony runs containers only", "a service that runs the model";
    Service "build" "a device builds no images", "`image` with an image that was pushed to a registry";
    Extends "file" "a package holds one compose file", "a service of `compose.yaml`";
    Service "links" "services reach each other by name", "`networks` with `aliases`";
    Service "external_links" "containers outside the project are not known", "an external network";
    Service "volumes_from" "volumes are shared by name", "the same named volume in both services";
    Service "pull_refresh_after" "a tag is resolved again after a failed attempt only", "an image with another tag or a digest";
    Service "label_file" "labels stand in the compose file", "`labels`";
    Service "mac_address" "two versions side by side would have the same one", "an address that the engine chooses";
    Service "cpu_count" "only Windows has it", "`cpus`";
    Service "cpu_percent" "only Windows has it", "`cpus`";
    Service "isolation" "only Windows has it", "the file without it";
    Service "credential_spec" "only Windows has it", "the file without it";
    Service "annotations" "Podman and Docker before version 24 ignore it", "`labels`";
    Service "attach" "a device has no terminal to attach to", "the file without it";
    Service "develop" "a device develops nothing", "the file without it";
    Service "post_start" "it is not run by colony", "the image's entrypoint";
    Service "pre_stop" "it is not run by colony", "`stop_signal` and the image's own handling of it";
    Service "provider" "colony runs containers only", "a service with an `image`";
    Service "models" "colony runs containers only", "a service that runs the model";
    Service "use_api_socket" "the credentials of a user are not there", "a bind mount of the socket";
    Port "mode" "there is no swarm", "the file without it";
    Port "name" "it has no effect", "the file without it";
    Port "app_protocol" "it has no effect", "the file without it";
    Mount "image" "Docker before version 28 refuses it", "a `volume` that the service fills";
    Mount "consistency" "it has no effect on Linux", "the file without it";
    BindOptions "recursive" "Docker before version 25 ignores it", "the file without it";
    VolumeOptions "subpath" "Docker before version 26 ignores it", "a volume of its own";
    VolumeOptions "labels" "volumes are shared by name", "`labels` under `volumes`";
    ConfigMount "uid" "the file belongs to root", "a `mode` that lets others read";
    ConfigMount "gid" "the file belongs to root", "a `mode` that lets others read";
    SecretMount "uid" "the file belongs to root", "a `mode` that lets others read";
    SecretMount "gid" "the file belongs to root", "a `mode` that lets others read";
    Attachment "mac_address" "two versions side by side would have the same one", "an address that the engine chooses";
    Attachment "gw_priority" "Podman and Docker before version 28 ignore it", "`priority`, which puts a network first";
    Attachment "interface_name" "Podman and Docker before version 28 ignore it", "the file without it";
    Dependency "restart" "a service is restarted when it fails itself", "the file without it";
    Deploy "mode" "there is no swarm", "the file without it";
    Deploy "placement" "the deployment names the nodes", "the file without it";
    Deploy "restart_policy" "the node keeps services running", "`restart`";
    Deploy "update_config" "the deployment says how it is rolled out", "the file without it";
    Deploy "rollback_config" "the deployment says how it is rolled out", "the file without it";
    Deploy "labels" "there is no swarm", "the service's `labels`";
    Deploy "endpoint_mode" "there is no swarm", "the file without it";
    Reservations "cpus" "there is no swarm", "`cpu_shares`";
    Reservations "pids" "there is no swarm", "`pids_limit`";
    Reservations "generic_resources" "there is no swarm", "`deviceConstraints` in margo.yaml";
    Network "attachable" "there is no swarm", "the file without it";
    Network "enable_ipv4" "Podman and Docker before version 28 ignore it", "the file without it";
    Config "external" "there is no swarm", "`file`, `content` or `environment`";
    Config "labels" "a file has none", "the file without it";
    Config "name" "there is no swarm", "the file without it";
    Config "template_driver" "there is no swarm", "`content` with variables";
    Secret "external" "there is no swarm", "`file` or `environment`";
    Secret "name" "there is no swarm", "the file without it";
    Secret "driver" "there is no swarm", "`file` or `environment`";
    Secret "driver_opts" "there is no swarm", "`file` or `environment`";
    Secret "labels" "a file has none", "the file without it";
    Secret "template_driver" "there is no swarm", "the file without it";
}

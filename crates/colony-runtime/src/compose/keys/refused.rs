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
    File "secrets" "secrets must not be packaged", "a parameter, or a bind mount of a path of the host";
    File "models" "colony runs containers only", "a service that runs the model";
    Service "build" "a device builds no images", "`image` with an image that was pushed to a registry";
    Service "container_name" "several nodes may share an engine", "the service's name, by which others reach it";
    Service "extends" "a package holds one compose file", "a YAML anchor and `<<`";
    Service "profiles" "a deployment runs all services", "a component of its own";
    Service "secrets" "secrets must not be packaged", "a parameter, or a bind mount of a path of the host";
    Service "links" "services reach each other by name", "`networks` with `aliases`";
    Service "external_links" "containers outside the project are not known", "an external network";
    Service "volumes_from" "volumes are shared by name", "the same named volume in both services";
    Service "scale" "a service is one container", "one service for each container";
    Service "logging" "the node reads the containers' logs", "the file without it";
    Service "label_file" "labels stand in the compose file", "`labels`";
    Service "gpus" "it is not set by colony", "`devices`";
    Service "runtime" "it is not set by colony", "the engine's default runtime";
    Service "pid" "it is not set by colony", "the file without it";
    Service "ipc" "it is not set by colony", "`shm_size`, or the file without it";
    Service "uts" "it is not set by colony", "the file without it";
    Service "userns_mode" "it is not set by colony", "the file without it";
    Service "cgroup" "it is not set by colony", "the file without it";
    Service "cgroup_parent" "it is not set by colony", "the file without it";
    Service "device_cgroup_rules" "it is not set by colony", "`devices`";
    Service "dns_opt" "it is not set by colony", "`dns`";
    Service "dns_search" "it is not set by colony", "`dns`";
    Service "domainname" "it is not set by colony", "`hostname`";
    Service "mac_address" "it is not set by colony", "the file without it";
    Service "mem_reservation" "it is not set by colony", "`mem_limit`";
    Service "mem_swappiness" "it is not set by colony", "`mem_limit`";
    Service "memswap_limit" "it is not set by colony", "`mem_limit`";
    Service "oom_kill_disable" "it is not set by colony", "`mem_limit`";
    Service "oom_score_adj" "it is not set by colony", "`mem_limit`";
    Service "cpu_count" "it is not set by colony", "`cpus`";
    Service "cpu_percent" "it is not set by colony", "`cpus`";
    Service "cpu_shares" "it is not set by colony", "`cpus`";
    Service "cpu_period" "it is not set by colony", "`cpus`";
    Service "cpu_quota" "it is not set by colony", "`cpus`";
    Service "cpu_rt_period" "it is not set by colony", "`cpus`";
    Service "cpu_rt_runtime" "it is not set by colony", "`cpus`";
    Service "cpuset" "it is not set by colony", "`cpus`";
    Service "blkio_config" "it is not set by colony", "the file without it";
    Service "storage_opt" "it is not set by colony", "the file without it";
    Service "isolation" "it is not set by colony", "the file without it";
    Service "credential_spec" "it is not set by colony", "the file without it";
    Service "annotations" "it is not set by colony", "`labels`";
    Service "attach" "a device has no terminal to attach to", "the file without it";
    Service "develop" "a device develops nothing", "the file without it";
    Service "post_start" "it is not run by colony", "the image's entrypoint";
    Service "pre_stop" "it is not run by colony", "`stop_signal` and the image's own handling of it";
    Service "provider" "colony runs containers only", "a service with an `image`";
    Service "models" "colony runs containers only", "a service that runs the model";
    Service "use_api_socket" "it is not set by colony", "a bind mount of the socket";
    Port "mode" "there is no swarm", "the file without it";
    Port "name" "it has no effect", "the file without it";
    Port "app_protocol" "it has no effect", "the file without it";
    Mount "bind" "it is not set by colony", "the file without it";
    Mount "volume" "it is not set by colony", "the file without it";
    Mount "tmpfs" "it is not set by colony", "the service's key `tmpfs` with options";
    Mount "image" "it is not set by colony", "the file without it";
    Mount "consistency" "it has no effect on Linux", "the file without it";
    ConfigMount "uid" "the file belongs to root", "a `mode` that lets others read";
    ConfigMount "gid" "the file belongs to root", "a `mode` that lets others read";
    Attachment "ipv4_address" "several nodes may share an engine", "the service's name, by which others reach it";
    Attachment "ipv6_address" "several nodes may share an engine", "the service's name, by which others reach it";
    Attachment "link_local_ips" "it is not set by colony", "the file without it";
    Attachment "mac_address" "it is not set by colony", "the file without it";
    Attachment "driver_opts" "it is not set by colony", "the file without it";
    Attachment "gw_priority" "it is not set by colony", "the file without it";
    Attachment "priority" "it is not set by colony", "the file without it";
    Attachment "interface_name" "it is not set by colony", "the file without it";
    Dependency "required" "every service is there", "the file without it";
    Dependency "restart" "a service is restarted when it fails itself", "the file without it";
    Deploy "replicas" "a service is one container", "one service for each container";
    Deploy "mode" "there is no swarm", "the file without it";
    Deploy "placement" "the deployment names the nodes", "the file without it";
    Deploy "restart_policy" "the node keeps services running", "`restart`";
    Deploy "update_config" "the deployment says how it is rolled out", "the file without it";
    Deploy "rollback_config" "the deployment says how it is rolled out", "the file without it";
    Deploy "labels" "there is no swarm", "the service's `labels`";
    Deploy "endpoint_mode" "there is no swarm", "the file without it";
    Resources "reservations" "the package says what a device must have", "`deviceConstraints` in margo.yaml";
    Network "attachable" "there is no swarm", "the file without it";
    Network "enable_ipv4" "it is not set by colony", "the file without it";
    Network "enable_ipv6" "it is not set by colony", "the file without it";
    Network "ipam" "several nodes may share an engine", "addresses that the engine chooses";
    Config "external" "there is no swarm", "`file`, `content` or `environment`";
    Config "name" "there is no swarm", "the file without it";
    Config "template_driver" "there is no swarm", "`content` with variables";
}

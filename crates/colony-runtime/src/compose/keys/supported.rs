//! The keys that are supported.

use super::{KeySection, Supported};

macro_rules! supported {
    ($($place:ident $name:literal $takes:literal;)*) => {
        /// Every supported key, in the order of the published table.
        pub const SUPPORTED: &[Supported] =
            &[$(Supported { place: KeySection::$place, name: $name, takes: $takes },)*];
    };
}

supported! {
    File "services" "services by name, 1 to 100";
    File "networks" "networks by name; `default` is there by itself";
    File "volumes" "volumes by name; they stay when a deployment is removed";
    File "configs" "configs by name";
    File "name" "a text, without effect: the deployment gives the names";
    File "version" "a text, without effect, as in Compose";
    Service "image" "an image reference; required";
    Service "command" "a text, split into words as a shell does, or a list; `[]` for none";
    Service "entrypoint" "a text, split into words as a shell does, or a list; `[]` for none";
    Service "environment" "a mapping, or a list of `NAME=value`; a name without a value is taken from the parameters, or not set";
    Service "env_file" "a path in the archive, or a list of paths or mappings; at most 16, of 64 KiB each";
    Service "labels" "a mapping, or a list of `name=value`; names that begin with `colony.` are colony's";
    Service "ports" "a list of `[[address:]host:]container[/protocol]`, with ranges of equal length, or mappings";
    Service "expose" "a list of ports or ranges";
    Service "volumes" "a list of `[source:]target[:ro]`, or mappings; a source is a named volume or an absolute path of the host";
    Service "configs" "a list of names, mounted as `/name`, or mappings";
    Service "networks" "a list of names, or a mapping; without it the service is in `default`";
    Service "network_mode" "`host` or `none`";
    Service "depends_on" "a list of services, or a mapping";
    Service "healthcheck" "a mapping; without it the image's own is used";
    Service "restart" "`always` or `unless-stopped`: the node keeps every service running, also without this key; `no` or `on-failure` for a service that another one waits for with `service_completed_successfully`";
    Service "user" "a user, or `user:group`, by name or number";
    Service "working_dir" "an absolute path in the container";
    Service "hostname" "a host name";
    Service "read_only" "`true` or `false`";
    Service "privileged" "`true` or `false`";
    Service "cap_add" "a list of capabilities";
    Service "cap_drop" "a list of capabilities";
    Service "devices" "a list of `host[:container[:permissions]]`";
    Service "init" "`true` or `false`";
    Service "stop_grace_period" "a duration such as `1m30s`";
    Service "stop_signal" "a signal such as `SIGINT`";
    Service "mem_limit" "a size such as `64m` or `1gb`";
    Service "cpus" "a number such as `0.5`";
    Service "pids_limit" "a number, `-1` for no limit";
    Service "deploy" "a mapping";
    Service "extra_hosts" "a list of `name:address` or `name=address`, or a mapping";
    Service "dns" "an address, or a list of addresses";
    Service "tmpfs" "an absolute path with options such as `/run:size=64m`, or a list of them";
    Service "ulimits" "numbers, or mappings, by name";
    Service "sysctls" "a mapping, or a list of `name=value`";
    Service "security_opt" "a list; `seccomp` can only be `unconfined`";
    Service "tty" "`true` or `false`";
    Service "stdin_open" "`true` or `false`";
    Service "shm_size" "a size such as `64m`";
    Service "group_add" "a list of groups, by name or number";
    Service "platform" "a platform such as `linux/arm64`";
    Service "pull_policy" "`missing`, `if_not_present`, `always` or `never`";
    EnvFile "path" "a path in the archive; required";
    EnvFile "required" "`false` if the file may be missing";
    EnvFile "format" "`raw` to take values as they are";
    Port "target" "the container's port; required";
    Port "published" "the host's port";
    Port "host_ip" "the host's address";
    Port "protocol" "`tcp`, `udp` or `sctp`";
    Mount "type" "`volume`, `bind` or `tmpfs`; required";
    Mount "source" "a named volume, or an absolute path of the host";
    Mount "target" "an absolute path in the container; required";
    Mount "read_only" "`true` or `false`";
    ConfigMount "source" "the name of a config; required";
    ConfigMount "target" "an absolute path in the container";
    ConfigMount "mode" "permissions in octal such as `0440`; `0444` without it";
    Attachment "aliases" "further names of the service in this network";
    Dependency "condition" "`service_started`, `service_healthy` or `service_completed_successfully`";
    Healthcheck "test" "a text for the shell, or a list that begins with `CMD`, `CMD-SHELL` or `NONE`";
    Healthcheck "interval" "a duration; `30s` without it";
    Healthcheck "timeout" "a duration; `30s` without it";
    Healthcheck "retries" "a number from 1; `3` without it";
    Healthcheck "start_period" "a duration; `0s` without it";
    Healthcheck "start_interval" "a duration; `5s` without it";
    Healthcheck "disable" "`true` to run none, not even the image's own";
    Ulimit "soft" "a number; required";
    Ulimit "hard" "a number; required";
    Deploy "resources" "a mapping";
    Resources "limits" "a mapping";
    ResourceLimits "cpus" "as `cpus`";
    ResourceLimits "memory" "as `mem_limit`";
    ResourceLimits "pids" "as `pids_limit`";
    Network "driver" "a driver of the engine";
    Network "driver_opts" "a mapping";
    Network "internal" "`true` to cut it off from the outside";
    Network "labels" "a mapping, or a list of `name=value`";
    Network "external" "`true` if it exists already";
    Network "name" "the engine's name of an external network";
    Volume "driver" "a driver of the engine";
    Volume "driver_opts" "a mapping";
    Volume "labels" "a mapping, or a list of `name=value`";
    Volume "external" "`true` if it exists already";
    Volume "name" "the engine's name of an external volume";
    Config "file" "a path in the archive";
    Config "content" "the text itself";
    Config "environment" "the name of a parameter whose value is the content";
}

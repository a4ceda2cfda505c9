//! Mounts of a service in the engine's two forms.

use std::collections::BTreeMap;

use bollard::models::{
    Mount as EngineMount, MountBindOptions, MountBindOptionsPropagationEnum, MountTmpfsOptions,
    MountType, MountVolumeOptions,
};

use super::resources::signed;
use crate::compose::{Mount, MountKind, Propagation, Relabel, Service};

/// Folders of the host, which engines make if they are missing, and
/// configuration files, relabelled where there is SELinux.
pub(super) fn binds(service: &Service, configs: &[(String, String)]) -> Vec<String> {
    let own = service.mounts.iter().filter(|it| is_bind(it)).filter_map(bind);
    let configs = configs.iter().map(|(file, target)| format!("{file}:{target}:ro,z"));
    own.chain(configs).collect()
}

/// In this form, an engine makes the source.
fn is_bind(mount: &Mount) -> bool {
    mount.kind == MountKind::Bind && !mount.options.source_must_exist
}

fn bind(mount: &Mount) -> Option<String> {
    let relabel = mount.options.relabel.map(|it| match it {
        Relabel::Shared => "z",
        Relabel::Private => "Z",
    });
    let words = [
        mount.read_only.then_some("ro"),
        relabel,
        mount.options.propagation.map(Propagation::as_str),
    ];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    let mode = if words.is_empty() { String::new() } else { format!(":{}", words.join(",")) };
    Some(format!("{}:{}{mode}", mount.source.as_ref()?, mount.target))
}

/// Everything else. `copy_up` fills an empty volume with the content of the
/// image.
pub(super) fn mounts(
    service: &Service,
    volumes: &BTreeMap<String, String>,
    copy_up: bool,
) -> Vec<EngineMount> {
    let others = service.mounts.iter().filter(|it| !is_bind(it));
    others.map(|it| mount(it, volumes, copy_up)).collect()
}

fn mount(mount: &Mount, volumes: &BTreeMap<String, String>, copy_up: bool) -> EngineMount {
    let usual = EngineMount {
        source: mount.source.as_ref().and_then(|it| volumes.get(it)).cloned(),
        target: Some(mount.target.clone()),
        read_only: Some(mount.read_only),
        ..EngineMount::default()
    };
    let options = &mount.options;
    match mount.kind {
        MountKind::Bind => EngineMount {
            typ: Some(MountType::BIND),
            source: mount.source.clone(),
            bind_options: options.propagation.map(|it| MountBindOptions {
                propagation: Some(propagation(it)),
                ..MountBindOptions::default()
            }),
            ..usual
        },
        MountKind::Volume => {
            let named = usual.source.is_some();
            let is_left = options.no_copy || (named && !copy_up);
            let volume_options = is_left.then(|| MountVolumeOptions {
                no_copy: Some(true),
                ..MountVolumeOptions::default()
            });
            EngineMount { typ: Some(MountType::VOLUME), volume_options, ..usual }
        }
        MountKind::Tmpfs => {
            let is_set = options.size.is_some() || options.mode.is_some();
            let tmpfs_options = is_set.then(|| MountTmpfsOptions {
                size_bytes: options.size.map(signed),
                mode: options.mode.map(i64::from),
                ..MountTmpfsOptions::default()
            });
            EngineMount { typ: Some(MountType::TMPFS), tmpfs_options, ..usual }
        }
    }
}

fn propagation(of: Propagation) -> MountBindOptionsPropagationEnum {
    match of {
        Propagation::Private => MountBindOptionsPropagationEnum::PRIVATE,
        Propagation::RPrivate => MountBindOptionsPropagationEnum::RPRIVATE,
        Propagation::Shared => MountBindOptionsPropagationEnum::SHARED,
        Propagation::RShared => MountBindOptionsPropagationEnum::RSHARED,
        Propagation::Slave => MountBindOptionsPropagationEnum::SLAVE,
        Propagation::RSlave => MountBindOptionsPropagationEnum::RSLAVE,
    }
}

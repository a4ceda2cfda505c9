//! Users, rights and profiles of a container.

use crate::compose::Service;
use crate::containerd::pod::{namespaces, refused};
use crate::containerd::wire::{
    Capability, Int64Value, ProfileType, SecurityContext, SecurityProfile,
};
use crate::containers::api::Answer;

pub(super) fn security(service: &Service) -> Answer<SecurityContext> {
    let mut context = SecurityContext {
        capabilities: Some(Capability {
            add_capabilities: service.cap_add.iter().map(|it| capability(it)).collect(),
            drop_capabilities: service.cap_drop.iter().map(|it| capability(it)).collect(),
        }),
        privileged: service.privileged,
        namespace_options: Some(namespaces(service)),
        readonly_rootfs: service.read_only,
        supplemental_groups: groups(service)?,
        seccomp: Some(profile(ProfileType::RuntimeDefault, "")),
        ..SecurityContext::default()
    };
    if service.privileged {
        context.seccomp = Some(profile(ProfileType::Unconfined, ""));
    }
    if let Some(user) = &service.user {
        run_as(&mut context, user)?;
    }
    for option in &service.security_opt {
        restrict(&mut context, option)?;
    }
    Ok(context)
}

fn run_as(context: &mut SecurityContext, text: &str) -> Answer<()> {
    let (user, group) = text.split_once(':').unwrap_or((text, ""));
    match user.parse() {
        Ok(value) => context.run_as_user = Some(Int64Value { value }),
        Err(_) => context.run_as_username = user.to_owned(),
    }
    if !group.is_empty() {
        context.run_as_group = Some(Int64Value { value: number(group, "the group of `user`")? });
    }
    Ok(())
}

fn groups(service: &Service) -> Answer<Vec<i64>> {
    service.group_add.iter().map(|it| number(it, "a group of `group_add`")).collect()
}

fn number(text: &str, what: &str) -> Answer<i64> {
    text.parse()
        .map_err(|_| refused(&format!("{what} must be a number on containerd, not `{text}`")))
}

fn restrict(context: &mut SecurityContext, option: &str) -> Answer<()> {
    let (name, value) = option.split_once(['=', ':']).unwrap_or((option, "true"));
    match (name, value) {
        ("no-new-privileges", value) => context.no_new_privs = value == "true",
        ("seccomp", "unconfined") => {
            context.seccomp = Some(profile(ProfileType::Unconfined, ""));
        }
        ("apparmor", "unconfined") => {
            context.apparmor = Some(profile(ProfileType::Unconfined, ""));
        }
        ("apparmor", name) => context.apparmor = Some(profile(ProfileType::Localhost, name)),
        _ => {
            return Err(refused(&format!(
                "containerd does not take the security option `{option}`"
            )));
        }
    }
    Ok(())
}

fn profile(kind: ProfileType, name: &str) -> SecurityProfile {
    SecurityProfile { profile_type: kind.into(), localhost_ref: name.to_owned() }
}

/// Compose takes names with and without the prefix, CRI without it.
fn capability(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    upper.strip_prefix("CAP_").unwrap_or(&upper).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_are_numbers_or_a_name() {
        let as_user = |user: &str| {
            let service = Service { user: Some(user.to_owned()), ..Service::default() };
            security(&service)
        };
        let both = as_user("1000:50").unwrap();
        assert_eq!((both.run_as_user, both.run_as_group), (value(1000), value(50)));
        assert_eq!(as_user("guest").unwrap().run_as_username, "guest");
        assert!(as_user("guest:staff").is_err());
    }

    #[test]
    fn rights_are_those_of_the_service() {
        let service = Service {
            cap_add: vec!["CAP_NET_ADMIN".to_owned(), "sys_time".to_owned()],
            security_opt: vec!["no-new-privileges:true".to_owned()],
            ..Service::default()
        };
        let context = security(&service).unwrap();
        assert_eq!(context.capabilities.unwrap().add_capabilities, ["NET_ADMIN", "SYS_TIME"]);
        assert!(context.no_new_privs);
        let default = ProfileType::RuntimeDefault as i32;
        assert_eq!(context.seccomp.unwrap().profile_type, default);
        let label = Service { security_opt: vec!["label=x".to_owned()], ..Service::default() };
        assert!(security(&label).is_err());
    }

    fn value(value: i64) -> Option<Int64Value> {
        Some(Int64Value { value })
    }
}

//! The files for the output of a container.

use bollard::models::HostConfigLogConfig;

use super::Surroundings;
use crate::compose::{LogDriver, Logging};

/// `None` leaves the engine's own, which may grow without end.
pub(super) fn config(
    logging: Option<&Logging>,
    around: &Surroundings<'_>,
) -> Option<HostConfigLogConfig> {
    let Some(logging) = logging else {
        return around.rotate_logs.then(|| file(&[("max-size", 10 << 20), ("max-file", 3)]));
    };
    // Podman keeps one file, which gets all of the room.
    let (size, files) = match (around.is_podman, logging.max_size) {
        (true, size) => (size.map(|it| it.saturating_mul(logging.max_file.unwrap_or(1))), None),
        (false, size) => (size, logging.max_file),
    };
    let options = [("max-size", size), ("max-file", files)];
    let options: Vec<(&str, u64)> =
        options.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let driver = match logging.driver {
        LogDriver::JsonFile => "json-file",
        LogDriver::Local => "local",
    };
    Some(HostConfigLogConfig { typ: Some(driver.to_owned()), ..file(&options) })
}

fn file(options: &[(&str, u64)]) -> HostConfigLogConfig {
    let config = options.iter().map(|(key, value)| ((*key).to_owned(), value.to_string()));
    HostConfigLogConfig { typ: Some("json-file".to_owned()), config: Some(config.collect()) }
}

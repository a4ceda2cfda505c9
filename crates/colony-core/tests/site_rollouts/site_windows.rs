//! Maintenance windows: how they are read, when they are open, and who waits for them.

use colony_core::site::{File, SiteSettings};
use colony_core::time::Timestamp;
use colony_testkit::{App, Plant, blob};

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60;
/// Midnight of a Monday, in minutes.
const MONDAY: u64 = 1_794_182_400_000 / MINUTE;

#[test]
fn a_window_within_a_day_ends_on_that_day() {
    let office = "{from: '09:00', to: '17:00'}";
    check(office, "mon 08:59", "opens mon 09:00");
    check(office, "mon 09:00", "open");
    check(office, "mon 16:59", "open");
    check(office, "mon 17:00", "opens tue 09:00");
}

#[test]
fn a_window_that_ends_when_it_begins_is_a_whole_day_long() {
    let tuesday = "{days: [tue], from: '06:00', to: '06:00'}";
    check(tuesday, "mon 12:00", "opens tue 06:00");
    check(tuesday, "tue 06:00", "open");
    check(tuesday, "wed 05:59", "open");
    check(tuesday, "wed 06:00", "opens tue 06:00");
}

#[test]
fn west_of_greenwich_a_window_opens_later() {
    let night = "{days: [mon], from: '22:00', to: '04:00', utcOffset: '-05:00'}";
    check(night, "tue 02:59", "opens tue 03:00");
    check(night, "tue 03:00", "open");
    check(night, "tue 08:59", "open");
    check(night, "tue 09:00", "opens tue 03:00");
}

#[test]
fn the_earth_is_fourteen_hours_wide() {
    let morning = "{days: [tue], from: '08:00', to: '09:00', utcOffset: 'OFFSET'}";
    let at = |offset| morning.replace("OFFSET", offset);
    check(&at("+14:00"), "mon 17:59", "opens mon 18:00");
    check(&at("+14:00"), "mon 18:00", "open");
    check(&at("-14:00"), "tue 22:00", "open");
    for wrong in ["+14:01", "-14:01"] {
        let expected = format!(
            "1:75: maintenanceWindows[0].utcOffset: `{wrong}` is a text; expected an offset such as `+01:00`"
        );
        check(&at(wrong), "mon 18:00", &expected);
    }
}

#[test]
fn a_day_has_24_hours_of_60_minutes() {
    let to = |time: &str| format!("{{from: '00:00', to: '{time}'}}");
    check(&to("23:59"), "mon 23:58", "open");
    check(&to("23:59"), "mon 23:59", "opens tue 00:00");
    for wrong in ["24:00", "23:60", "12:75", "99:00"] {
        let expected = format!(
            "1:42: maintenanceWindows[0].to: `{wrong}` is a text; expected a time from `00:00` to `23:59`"
        );
        check(&to(wrong), "mon 12:00", &expected);
    }
}

#[test]
fn a_file_with_an_unknown_key_is_refused() {
    let text = "labels: {}\nmaintenanceWindow: []\n";
    let findings = SiteSettings::parse(text.as_bytes()).expect_err("a misspelt key");
    let expected = "2:1: maintenanceWindow: key `maintenanceWindow` is not known (did you mean \
                    `maintenanceWindows`?); expected `labels` or `maintenanceWindows`";
    assert_eq!(findings[0].to_string(), expected);
}

#[test]
fn what_waits_for_a_window_starts_when_it_opens() {
    let mut plant = waiting();
    plant.pass(299);
    assert_eq!(plant.states(), "hello@a PENDING");
    plant.pass(2);
    assert_eq!(plant.states(), "hello@a INSTALLING 1.0.0");
}

#[test]
fn after_a_crash_it_still_waits_and_still_starts() {
    let mut plant = waiting();
    plant.crash();
    plant.pass(299);
    assert_eq!(plant.states(), "hello@a PENDING");
    plant.pass(2);
    assert_eq!(plant.states(), "hello@a INSTALLING 1.0.0");
}

/// Noon, five minutes before the window opens.
fn waiting() -> Plant {
    let mut plant = Plant::new();
    plant.join("a");
    let text = "maintenanceWindows:\n  - {from: '12:05', to: '12:30'}\n";
    let file = File::read(plant.site.name(), "sites/home.yaml", &blob(text), text.as_bytes());
    plant.commit(vec![file]);
    plant.deploy(&App::new("hello", "1.0.0"));
    plant
}

/// Compares what is said of `window` at a time of the week in UTC.
#[track_caller]
fn check(window: &str, at: &str, expected: &str) {
    let text = format!("maintenanceWindows: [{window}]\n");
    let actual = match SiteSettings::parse(text.as_bytes()) {
        Ok(settings) => match settings.opens(Timestamp((MONDAY + minute(at)) * MINUTE)) {
            None => "open".to_owned(),
            Some(opens) => format!("opens {}", time(opens.0 / MINUTE - MONDAY)),
        },
        Err(findings) => findings[0].to_string(),
    };
    assert_eq!(actual, expected, "{window} at {at}");
}

fn minute(at: &str) -> u64 {
    let number = |it: &str| it.parse::<u64>().expect("a number");
    let day = DAYS.iter().position(|it| at.starts_with(it)).expect("a day") as u64;
    day * DAY + number(&at[4..6]) * 60 + number(&at[7..])
}

fn time(minute: u64) -> String {
    let day = usize::try_from(minute / DAY % 7).expect("a small number");
    format!("{} {:02}:{:02}", DAYS[day], minute % DAY / 60, minute % 60)
}

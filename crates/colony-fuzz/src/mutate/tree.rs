//! Changes of values inside JSON and YAML, which leave the syntax whole.

use colony_core::margo::{Json, yaml};
use serde_json::json;

use crate::Target;
use crate::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Json,
    Yaml,
}

/// Changes one value; what cannot be read stays as it is.
pub(super) fn edit(
    target: &Target,
    input: &mut Vec<u8>,
    other: &[u8],
    syntax: Syntax,
    random: &mut Random,
) {
    let Some(mut root) = read(input, syntax) else { return };
    let donor = read(other, syntax).unwrap_or_default();
    let count = size(&root);
    let mut at = random.below(count);
    if let Some(place) = nth(&mut root, &mut at) {
        change(target, place, &donor, random);
    }
    *input = match syntax {
        Syntax::Json => root.to_string().into_bytes(),
        Syntax::Yaml => yaml::emit(&root).into_bytes(),
    };
}

fn read(bytes: &[u8], syntax: Syntax) -> Option<Json> {
    match syntax {
        Syntax::Json => serde_json::from_slice(bytes).ok(),
        Syntax::Yaml => yaml::parse(bytes, &yaml::Limits::default()).ok().map(|it| it.to_json()),
    }
}

fn size(json: &Json) -> usize {
    1 + match json {
        Json::Array(items) => items.iter().map(size).sum(),
        Json::Object(entries) => entries.values().map(size).sum(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
    }
}

/// The value with this number, counted from the root.
fn nth<'j>(json: &'j mut Json, at: &mut usize) -> Option<&'j mut Json> {
    if *at == 0 {
        return Some(json);
    }
    *at -= 1;
    match json {
        Json::Array(items) => items.iter_mut().find_map(|it| nth(it, at)),
        Json::Object(entries) => entries.values_mut().find_map(|it| nth(it, at)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
    }
}

fn change(target: &Target, place: &mut Json, donor: &Json, random: &mut Random) {
    match (place, random.below(4)) {
        (Json::Array(items), 0..=2) => change_list(items, random),
        (Json::Object(entries), 0..=2) => change_map(target, entries, random),
        (Json::String(text), 0..=1) => change_text(target, text, random),
        (place, _) => *place = fresh(target, donor, random),
    }
}

fn change_list(items: &mut Vec<Json>, random: &mut Random) {
    let at = random.below(items.len());
    match (items.get(at).cloned(), random.below(3)) {
        (Some(item), 0) => items.extend(std::iter::repeat_n(item, 1 + random.below(3))),
        (Some(_), 1) => _ = items.remove(at),
        (Some(_), _) => items.reverse(),
        (None, _) => items.push(Json::Null),
    }
}

fn change_map(target: &Target, entries: &mut serde_json::Map<String, Json>, random: &mut Random) {
    let keys: Vec<String> = entries.keys().cloned().collect();
    let word = random.pick(target.words).copied().unwrap_or("x").to_owned();
    match (random.pick(&keys), random.below(3)) {
        (Some(key), 0) => _ = entries.remove(key),
        (Some(key), 1) => {
            let value = entries.remove(key).unwrap_or_default();
            entries.insert(word, value);
        }
        (Some(key), _) => {
            let value = entries[key].clone();
            entries.insert(word, value);
        }
        (None, _) => _ = entries.insert(word, Json::Null),
    }
}

fn change_text(target: &Target, text: &mut String, random: &mut Random) {
    let word = random.pick(target.words).copied().unwrap_or_default();
    match random.below(4) {
        0 => *text = word.to_owned(),
        1 => text.push_str(word),
        2 => _ = text.pop(),
        _ => text.push(['\n', '\0', '/', '.', 'é', '\u{1f600}', '"', ' '][random.below(8)]),
    }
}

/// A value from elsewhere.
fn fresh(target: &Target, donor: &Json, random: &mut Random) -> Json {
    let mut donor = donor.clone();
    let mut at = random.below(size(&donor));
    match random.below(10) {
        0..=4 => nth(&mut donor, &mut at).cloned().unwrap_or_default(),
        5 => json!(random.pick(target.words)),
        6 => json!(random.next()),
        7 => json!([-1, 0, 1, 1.5e300, u64::MAX, i64::MIN])[random.below(6)].clone(),
        8 => json!({}),
        _ => json!([null, true, "", [], [[]]])[random.below(5)].clone(),
    }
}

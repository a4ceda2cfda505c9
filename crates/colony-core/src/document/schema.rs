//! How the values of settings look in the OpenAPI document.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::change::SettingName;
use super::strategy::{CountOrPercent, Subset};
use super::text::{DURATION, SHARE, SUBSET, SettingDuration};

impl PartialSchema for CountOrPercent {
    fn schema() -> RefOr<Schema> {
        let share = OneOfBuilder::new().item(count()).item(text(Type::String));
        share.description(Some(sentence(SHARE))).into()
    }
}

impl PartialSchema for Subset {
    fn schema() -> RefOr<Schema> {
        let labels = text(Type::Object).additional_properties(Some(text(Type::String)));
        let subset = OneOfBuilder::new().item(count()).item(text(Type::String)).item(labels);
        subset.description(Some(sentence(SUBSET))).into()
    }
}

impl PartialSchema for SettingDuration {
    fn schema() -> RefOr<Schema> {
        text(Type::String).description(Some(sentence(DURATION))).into()
    }
}

impl PartialSchema for SettingName {
    fn schema() -> RefOr<Schema> {
        let names = SettingName::all().map(|it| it.to_string());
        text(Type::String).enum_values(Some(names)).into()
    }
}

macro_rules! named {
    ($($type:ident)+) => {
        $(impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($type))
            }
        })+
    };
}

named!(CountOrPercent Subset SettingDuration SettingName);

fn text(kind: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(kind)
}

fn count() -> ObjectBuilder {
    text(Type::Integer).minimum(Some(1)).maximum(Some(CountOrPercent::MOST))
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str() + "."
}

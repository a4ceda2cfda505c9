//! Documents as they stand in a column: JSON, written and read whole.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::database::line::corrupt;
use crate::database::query::Value;

/// `what` names the document in errors: "change `7`".
pub(crate) fn write(what: &str, document: &impl Serialize) -> Result<Value, Error> {
    let text = serde_json::to_string(document);
    let text = text.map_err(|source| Error::Unwritable { what: what.to_owned(), source })?;
    Ok(Value::Text(Some(text)))
}

pub(crate) fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|it| corrupt(what, &it))
}

//! How each kind of response is printed: a view of the API becomes a text.

pub(crate) mod application;
pub(crate) mod change;
pub(crate) mod deployment;
pub(crate) mod end;
pub(crate) mod event;
pub(crate) mod node;
pub(crate) mod plan;
pub(crate) mod site;
pub(crate) mod status;
pub(crate) mod talk;
pub(crate) mod token;

//! Changes that wait for Git.

use reqwest::Method;

use super::{Client, Error};
use crate::view::ChangeView;

impl Client {
    pub async fn change_list(&self) -> Result<Vec<ChangeView>, Error> {
        self.get(&["changes"], &()).await
    }

    pub async fn change_cancel(&self, id: &str) -> Result<(), Error> {
        self.answer(self.request(Method::DELETE, &["changes", id])).await
    }
}

//! Tokens of operators.

use reqwest::Method;

use super::{Client, Error};
use crate::request::TokenAdd;
use crate::view::TokenView;

impl Client {
    pub async fn token_list(&self) -> Result<Vec<TokenView>, Error> {
        self.get(&["tokens"], &()).await
    }

    /// Only this response contains the secret.
    pub async fn token_create(&self, add: &TokenAdd) -> Result<TokenView, Error> {
        self.post(&["tokens"], add).await
    }

    pub async fn token_delete(&self, name: &str) -> Result<(), Error> {
        self.answer(self.request(Method::DELETE, &["tokens", name])).await
    }
}

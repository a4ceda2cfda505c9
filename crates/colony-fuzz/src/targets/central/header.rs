//! The header that says who asks.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use colony_central::fuzz;

use crate::Outcome;

pub(super) fn authorization(input: &[u8]) -> Outcome {
    let Ok(value) = HeaderValue::from_bytes(input) else { return Outcome::refused("no header") };
    let Some(token) = shown(value) else { return Outcome::refused("no token") };
    let text = String::from_utf8_lossy(input);
    let bearer = text.get(..7).is_some_and(|it| it.eq_ignore_ascii_case("bearer "));
    assert!(!bearer || text[7..].trim() == token, "{token:?} of {text:?}");
    // Git sends the same token with any name.
    let basic = format!("bAsIc {}", STANDARD.encode(format!("git:{token}")));
    let basic = HeaderValue::from_str(&basic).expect("a header");
    assert_eq!(shown(basic).as_deref(), Some(token.as_str()), "as Git sends it");
    if let Ok(again) = HeaderValue::from_str(&format!("Bearer {}", token.trim()))
        && token.is_ascii()
    {
        assert_eq!(shown(again).as_deref(), Some(token.trim()), "sent again");
    }
    Outcome::taken(format!("{bearer} {}", token.is_empty()))
}

fn shown(value: HeaderValue) -> Option<String> {
    let mut headers = HeaderMap::new();
    headers.insert(header::AUTHORIZATION, value);
    fuzz::token(&headers)
}

//! Tokens of operators.

use colony_api::view::TokenView;

use crate::output::RenderOptions;
use crate::output::table::table;
use crate::output::words::or_dash;

pub(crate) fn list(views: &[TokenView], look: &RenderOptions) -> String {
    let rows = views.iter().map(|it| {
        [
            it.name.clone(),
            it.role.clone(),
            sites(it),
            look.ago(it.created),
            or_dash(expiry(it, look).as_deref()),
        ]
    });
    table(["NAME", "ROLE", "SITES", "MADE", "EXPIRES"], rows, look)
}

/// The secret alone, so that it can be piped.
pub(crate) fn created(view: &TokenView, _: &RenderOptions) -> String {
    view.token.clone().unwrap_or_default()
}

/// `ci: operator at plant-b, expires in 90 d; the token is not shown again`
pub(crate) fn summary(view: &TokenView, look: &RenderOptions) -> String {
    let TokenView { name, role, .. } = view;
    let place = match view.sites.is_empty() {
        true => String::new(),
        false => format!(" at {}", sites(view)),
    };
    let expiry = expiry(view, look).map(|it| format!(", expires {it}")).unwrap_or_default();
    format!("{name}: {role}{place}{expiry}; the token is not shown again")
}

fn sites(view: &TokenView) -> String {
    if view.sites.is_empty() { "all".to_owned() } else { view.sites.join(", ") }
}

/// `in 90 d`, or `expired`
fn expiry(view: &TokenView, look: &RenderOptions) -> Option<String> {
    let at = view.expires?;
    Some(if at <= look.now { "expired".to_owned() } else { look.until(at) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use colony_core::time::Timestamp;

    #[test]
    fn a_token_is_listed_with_its_end_and_told_when_it_is_made() {
        let look =
            RenderOptions { wide: false, now: Timestamp(1_000_000), width: None, colour: false };
        let token = |name: &str, sites: &[&str], expires: Option<u64>| TokenView {
            name: name.to_owned(),
            role: "operator".to_owned(),
            sites: sites.iter().map(|it| (*it).to_owned()).collect(),
            created: Timestamp(400_000),
            expires: expires.map(Timestamp),
            token: None,
        };
        let ci = token("ci", &["plant-b", "home"], Some(8_200_000));
        let all = [ci.clone(), token("old", &[], Some(999_999)), token("wall", &[], None)];
        insta::assert_snapshot!(list(&all, &look), @r"
        NAME  ROLE      SITES          MADE        EXPIRES
        ci    operator  plant-b, home  10 min ago  in 2 h
        old   operator  all            10 min ago  expired
        wall  operator  all            10 min ago  -
        ");
        insta::assert_snapshot!(summary(&ci, &look), @"ci: operator at plant-b, home, expires in 2 h; the token is not shown again");
    }
}

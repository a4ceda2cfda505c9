//! Where the deployments repository is.

use axum::Json;
use axum::extract::State;
use colony_api::site::GitAuth;
use colony_api::view::RepoView;

use crate::app::App;
use crate::auth::Operator;
use crate::fault::Fault;

/// Say how to clone the deployments repository
#[utoipa::path(get, path = "/api/v1/repo", tag = "fleet",
    responses((status = 200, description = "Where and how", body = RepoView)))]
pub(crate) async fn repo(
    State(app): State<App>,
    _operator: Operator,
) -> Result<Json<RepoView>, Fault> {
    let hosted = app.repo.hosted().is_some();
    let url = app.git.url.clone();
    let how = match hosted {
        true => format!(
            "git -c http.sslCAInfo=<ca.pem> clone {url} (any user name, your token as password), or `colony repo clone`"
        ),
        false => format!("git clone {url}"),
    };
    let auth = if hosted { GitAuth::Token } else { app.git.auth };
    Ok(Json(RepoView { url, branch: app.git.branch.clone(), hosted, auth, how }))
}

//! The user at the other end of the socket, as the kernel reports it.

use axum::extract::FromRequestParts;
use axum::extract::connect_info::ConnectInfo;
use axum::http::request::Parts;
use colony_wfm::Refusal;
use tokio::net::UnixStream;
use tokio::net::unix::SocketAddr;

use super::ApiState;

/// The user of this machine that sent the request.
#[derive(Debug, Clone)]
pub(crate) struct Caller(Option<u32>);

impl Caller {
    pub(super) fn of(stream: &UnixStream, _: &SocketAddr) -> Caller {
        Caller(stream.peer_cred().ok().map(|it| it.uid()))
    }

    /// The name recorded with an order: `local:ana`, or the number.
    pub(super) fn actor(&self) -> String {
        let Some(uid) = self.0 else { return "local:unknown".to_owned() };
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let name = name_of(&users, uid).map_or(uid.to_string(), str::to_owned);
        format!("local:{name}")
    }
}

/// Every user that can open the socket is authorized.
impl FromRequestParts<ApiState> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &ApiState) -> Result<Caller, Refusal> {
        let caller = parts.extensions.get::<ConnectInfo<Caller>>();
        Ok(caller.map_or(Caller(None), |it| it.0.clone()))
    }
}

fn name_of(users: &str, uid: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_called_by_name() {
        let users = "root:x:0:0:root:/:/bin/sh\nbroken\nana:x:1000:1000::/:/bin/sh";
        assert_eq!(name_of(users, 1000), Some("ana"));
        assert_eq!(name_of(users, 0), Some("root"));
        assert_eq!(name_of(users, 7), None);
    }
}

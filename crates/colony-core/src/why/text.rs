//! The whole answer as sentences: what, why, what next, who can help.

use std::fmt;

use crate::time::Wall;
use crate::why::words::{all, lasting, until};
use crate::why::{Subject, Why};

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", subject(&self.subject, self.asked), self.cause.clause(self.asked))?;
        for also in &self.also {
            write!(f, "; also, {}", also.clause(self.asked))?;
        }
        match self.next.at {
            Some(at) => write!(f, ". Next, {}: {}.", until(at, self.asked), self.next.what)?,
            None => write!(f, ". Next: {}.", self.next.what)?,
        }
        match &self.act {
            Some(act) => write!(f, " To do ({}): {act}.", self.owner.name()),
            None => Ok(()),
        }
    }
}

/// Up to the cause; the causes of a node name it themselves.
fn subject(subject: &Subject, asked: Wall) -> String {
    match subject {
        Subject::Site { site } => format!("site {site}: "),
        Subject::Node { .. } => String::new(),
        Subject::Deployment { deployment } => format!("{deployment}: "),
        Subject::Placement { deployment, nodes, state, since, doing } => {
            let (on, state, since) = (all(nodes), state.name(), lasting(*since, asked));
            format!("{deployment} on {on} {doing} ({state} for {since}): ")
        }
    }
}

//! Errors of the client.

use std::fmt;

use colony_core::margo::problem::FieldError;

use crate::Problem;

/// What went wrong with a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server refused the request.
    #[error("{}", ProblemText(.0))]
    Problem(Box<Problem>),
    #[error("`{0}` is not a server URL: expected one such as https://hub.local:7443")]
    Url(String),
    #[error("could not {doing}")]
    Setup {
        doing: &'static str,
        #[source]
        source: reqwest::Error,
    },
    #[error("the CA file holds no certificate")]
    NoCertificate,
    #[error("could not reach {server}")]
    Unreachable {
        server: String,
        #[source]
        source: reqwest::Error,
    },
    #[error("unexpected answer from {server}; it may run another version of colony")]
    Answer {
        server: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("the answer from {server} is larger than {limit} bytes")]
    TooLarge { server: String, limit: usize },
    /// One message of a stream of events.
    #[error("an event from {server} is larger than {limit} bytes")]
    EventTooLarge { server: String, limit: usize },
}

impl Error {
    /// The problem that the server sent, if it sent one.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Error::Problem(problem) => Some(problem),
            Error::Url(_)
            | Error::Setup { .. }
            | Error::NoCertificate
            | Error::Unreachable { .. }
            | Error::Answer { .. }
            | Error::TooLarge { .. }
            | Error::EventTooLarge { .. } => None,
        }
    }

    /// The resource does not exist.
    pub fn is_not_found(&self) -> bool {
        self.problem().is_some_and(|it| it.status == 404)
    }
}

/// A problem as a person reads it: the sentence, then a line per field.
struct ProblemText<'a>(&'a Problem);

impl fmt::Display for ProblemText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { title, status, detail, errors, .. } = self.0;
        let said: Vec<&str> = errors.iter().map(|it| it.message.as_str()).collect();
        // The field errors repeat the detail, with the field.
        let repeated = detail.as_ref().is_some_and(|it| *it == said.join("; "));
        match detail.as_deref().unwrap_or(title) {
            _ if repeated => return f.write_str(&listed(errors).join("\n")),
            "" => write!(f, "the server answered {status}")?,
            sentence => f.write_str(sentence)?,
        }
        if *status == 401 {
            f.write_str(" (give a token with --token, COLONY_TOKEN or a context)")?;
        }
        listed(errors).iter().try_for_each(|it| write!(f, "\n  {it}"))
    }
}

/// The errors by field.
fn listed(errors: &[FieldError]) -> Vec<String> {
    let line = |it: &FieldError| match it.field.as_str() {
        "" => it.message.clone(),
        field => format!("{field}: {}", it.message),
    };
    errors.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_as_a_sentence_with_its_fields() {
        check(Problem::about_blank(409).detail("site `b` is on hold"), &[], "site `b` is on hold");
        check(
            Problem::about_blank(422).detail("2 parameters are wrong"),
            &[("port", "70000 is above 65535"), ("", "greeting is unknown")],
            "2 parameters are wrong\n  port: 70000 is above 65535\n  greeting is unknown",
        );
        check(
            Problem::about_blank(422).detail("70000 is above 65535; greeting is unknown"),
            &[("port", "70000 is above 65535"), ("", "greeting is unknown")],
            "port: 70000 is above 65535\ngreeting is unknown",
        );
        check(Problem::about_blank(404), &[], "Not Found");
        check(
            Problem::about_blank(401),
            &[],
            "Unauthorized (give a token with --token, COLONY_TOKEN or a context)",
        );
    }

    #[track_caller]
    fn check(mut problem: Problem, errors: &[(&str, &str)], expected: &str) {
        problem.errors = errors
            .iter()
            .map(|(field, message)| FieldError {
                field: (*field).into(),
                message: (*message).into(),
            })
            .collect();
        assert_eq!(Error::Problem(Box::new(problem)).to_string(), expected);
    }
}

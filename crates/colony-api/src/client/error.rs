//! Why a question got no answer.

use std::fmt;

use crate::Problem;

/// What went wrong with a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server understood and said no.
    #[error("{}", Told(.0))]
    Problem(Box<Problem>),
    #[error("`{0}` is no server: expected a URL such as https://hub.local:7443")]
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
    #[error("{server} answered something else than was asked; is it another version of colony?")]
    Answer {
        server: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("the answer of {server} is larger than {limit} bytes")]
    TooLarge { server: String, limit: usize },
    /// One message of a stream of events.
    #[error("an event of {server} is larger than {limit} bytes")]
    EventTooLarge { server: String, limit: usize },
}

impl Error {
    /// What the server said, if it said anything.
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

    /// There is no such thing.
    pub fn is_not_found(&self) -> bool {
        self.problem().is_some_and(|it| it.status == 404)
    }
}

/// A problem as a person reads it: the sentence, then a line per field.
struct Told<'a>(&'a Problem);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { title, status, detail, errors, .. } = self.0;
        match detail.as_deref().unwrap_or(title) {
            "" => write!(f, "the server answered {status}")?,
            sentence => f.write_str(sentence)?,
        }
        if *status == 401 {
            f.write_str(" (give a token with --token, COLONY_TOKEN or a context)")?;
        }
        for error in errors {
            match error.field.as_str() {
                "" => write!(f, "\n  {}", error.message)?,
                field => write!(f, "\n  {field}: {}", error.message)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use colony_margo::problem::FieldError;

    use super::*;

    #[test]
    fn a_problem_reads_as_a_sentence_with_its_fields() {
        check(Problem::about_blank(409).detail("site `b` is on hold"), &[], "site `b` is on hold");
        check(
            Problem::about_blank(422).detail("2 parameters are wrong"),
            &[("port", "70000 is above 65535"), ("", "greeting is unknown")],
            "2 parameters are wrong\n  port: 70000 is above 65535\n  greeting is unknown",
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

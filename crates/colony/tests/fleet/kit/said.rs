//! What a command answered.

use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) command: String,
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    #[track_caller]
    pub(crate) fn ok(self) -> Said {
        self.ends(0)
    }

    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Said {
        assert_eq!(self.code, code, "{}\n{}{}", self.command, self.out, self.err);
        self
    }

    /// The operator who typed the command can read this.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Said {
        let all = format!("{}{}", self.out, self.err);
        assert!(all.contains(text), "expected to read: {text}\n$ {}\n{all}", self.command);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The invitation it printed.
    #[track_caller]
    pub(crate) fn invitation(&self) -> String {
        let found = self.out.split_whitespace().find(|it| it.starts_with("col1_"));
        found.unwrap_or_else(|| panic!("no invitation: {self:?}")).to_owned()
    }
}

//! Settings that are one of a few names: read, printed and listed from one table.

/// A value out of a fixed list, with its name and what it means.
pub trait Choice: Copy + 'static {
    /// All values, in the order in which they are offered.
    const ALL: &'static [Self];
    /// The names of all values, in the same order.
    const NAMES: &'static [&'static str];

    /// As it is written in files, requests and on the command line.
    fn name(self) -> &'static str;

    /// What it does, in a few words.
    fn meaning(self) -> &'static str;

    /// The value of that name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }
}

/// Declares an enum whose values have names; the comment of each says what it means.
macro_rules! choice {
    (
        $(#[$outer:meta])*
        pub enum $type:ident {
            $(#[doc = $meaning:literal] $value:ident = $name:literal,)+
        }
    ) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        pub enum $type {
            $(#[doc = $meaning] #[serde(rename = $name)] $value,)+
        }

        impl $crate::document::Choice for $type {
            const ALL: &'static [$type] = &[$($type::$value),+];
            const NAMES: &'static [&'static str] = &[$($name),+];

            fn name(self) -> &'static str {
                match self {
                    $($type::$value => $name,)+
                }
            }

            fn meaning(self) -> &'static str {
                match self {
                    $($type::$value => $meaning.trim_ascii(),)+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<$type, String> {
                use $crate::document::Choice;
                let unknown = || format!("expected one of {}", $type::NAMES.join(", "));
                $type::named(text).ok_or_else(unknown)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::document::Choice::name(*self))
            }
        }
    };
}

pub(crate) use choice;

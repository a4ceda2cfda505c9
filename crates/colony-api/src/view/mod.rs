//! What people are shown. Times are milliseconds since 1970 in UTC.
//!
//! States are spelled as in the state machine: `INSTALLED`, `FAILED(update)`.
//! Both orchestrators answer with these; what one cannot know is left out.

mod application;
mod change;
mod deployment;
mod event;
mod node;
mod placement;
mod plan;
mod site;
mod status;
mod talk;
mod token;

pub use application::{
    ApplicationDetail, ApplicationView, LintView, ParameterView, ProfileView, RegistryView,
};
pub use change::ChangeView;
pub use colony_core::fleet::{Outcome, SitePresence};
pub use colony_core::plan::{PlanAction, PlanPull, PlanStep, PlanTarget, ValueChange};
pub use deployment::{
    ConflictView, DeploymentSite, DeploymentView, HistoryEntry, HistoryView, PausedView,
    QuarantineView, RolledBackView, RolloutStanding, RolloutView, StoppedView, status_text,
};
pub use event::{EventPage, EventView};
pub use node::{NodePlacement, NodeView};
pub use placement::{Deferred, FailureView, PlacementView};
pub use plan::{DeployAnswer, FileDiff, PlanView};
pub use site::{HoldView, NodeCounts, SiteView};
pub use status::{Attention, DeploymentSummary, Role, StatusView};
pub use talk::{
    Accepted, CauseView, InviteKind, InviteView, LogLine, LogsView, ReasonView, RepoView, WhyView,
};
pub use token::TokenView;

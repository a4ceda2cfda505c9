//! The list of behaviours, and which engine has them.

use colony_core::code::Code;

/// A behaviour of an engine, in the order of the published table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Install,
    Adopt,
    Update,
    WayBack,
    HealthByExec,
    Drift,
    Logs,
    StageAndSwap,
    Removal,
    CleanUp,
    EngineAway,
    SharedEngine,
}

/// An engine, as a column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EngineColumn {
    Docker,
    Podman,
    Containerd,
    Kubernetes,
    Simulator,
}

/// Whether an engine has a behaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Support {
    Yes,
    /// The engine refuses with this failure.
    Refuses {
        code: Code,
        reason: &'static str,
    },
    /// The engine of the simulator has nothing of the kind.
    NotSimulated(&'static str),
}

impl Behaviour {
    pub(crate) const ALL: [Behaviour; 12] = [
        Behaviour::Install,
        Behaviour::Adopt,
        Behaviour::Update,
        Behaviour::WayBack,
        Behaviour::HealthByExec,
        Behaviour::Drift,
        Behaviour::Logs,
        Behaviour::StageAndSwap,
        Behaviour::Removal,
        Behaviour::CleanUp,
        Behaviour::EngineAway,
        Behaviour::SharedEngine,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Behaviour::Install => "install",
            Behaviour::Adopt => "adopt after restart",
            Behaviour::Update => "update",
            Behaviour::WayBack => "failed update and way back",
            Behaviour::HealthByExec => "health by exec",
            Behaviour::Drift => "drift repaired",
            Behaviour::Logs => "logs",
            Behaviour::StageAndSwap => "stage and swap",
            Behaviour::Removal => "removal",
            Behaviour::CleanUp => "clean-up",
            Behaviour::EngineAway => "engine gone and back",
            Behaviour::SharedEngine => "two nodes sharing an engine",
        }
    }

    /// What the engine has to do.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Behaviour::Install => {
                "preparing starts nothing; what is started becomes healthy; starting it again changes nothing"
            }
            Behaviour::Adopt => {
                "another process of the node finds what runs, and does not restart it"
            }
            Behaviour::Update => "the next version replaces the one before",
            Behaviour::WayBack => {
                "a version that exits is seen with its code; the one before replaces it"
            }
            Behaviour::HealthByExec => {
                "a check that is executed in the container decides, also after it has passed"
            }
            Behaviour::Drift => {
                "a container that is ended or removed from outside is noticed, and started again"
            }
            Behaviour::Logs => "every line comes once and in order, in pages of any size",
            Behaviour::StageAndSwap => {
                "the next version runs beside the active one, which is not touched until the swap"
            }
            Behaviour::Removal => "nothing is left on the engine; removing again succeeds",
            Behaviour::CleanUp => "what was fetched stays while it is needed, and goes afterwards",
            Behaviour::EngineAway => {
                "each action fails with `engine-unavailable`; afterwards the node continues by itself"
            }
            Behaviour::SharedEngine => {
                "nodes with the same name see and remove only their own containers"
            }
        }
    }

    pub(crate) fn support(self, engine: EngineColumn) -> Support {
        match (self, engine) {
            (Behaviour::StageAndSwap, EngineColumn::Kubernetes) => Support::Refuses {
                code: Code::NotEligible,
                reason: "a Helm release cannot run beside its previous version: blue-green needs compose",
            },
            (Behaviour::Logs, EngineColumn::Simulator) => {
                Support::NotSimulated("its containers print one line, when they end")
            }
            (Behaviour::CleanUp, EngineColumn::Simulator) => {
                Support::NotSimulated("its images take no space")
            }
            (Behaviour::SharedEngine, EngineColumn::Simulator) => {
                Support::NotSimulated("each device has an engine of its own")
            }
            (
                _,
                EngineColumn::Docker
                | EngineColumn::Podman
                | EngineColumn::Containerd
                | EngineColumn::Kubernetes
                | EngineColumn::Simulator,
            ) => Support::Yes,
        }
    }
}

//! The persisted records of the projection, and how it is restored from them.

use serde::{Deserialize, Serialize};

use crate::fleet::events::projection_writer::ProjectionWriter;
use crate::fleet::view::{Archive, DeploymentView, Head, Holds, NodeView, PlacementView};
use crate::fleet::{CentralChange, Fleet, RowKey, SiteView};
use crate::id::{DeploymentId, DeploymentName, NodeName, SiteName};
use crate::site::{Command, RefusedFile};
use crate::why::{AnswerKey, Why};

/// One persisted record of one site.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub site: SiteName,
    pub body: RowBody,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowBody {
    Site(Box<Head>),
    Holds(Box<Holds>),
    File(String, RefusedFile),
    Node(NodeName, Box<NodeView>),
    Deployment(Box<DeploymentView>),
    Placement(Box<PlacementView>),
    Target(DeploymentName, Box<CentralChange>),
    Command(u64, Box<Command>),
    Archive(DeploymentId, Archive),
    Answer(AnswerKey, Vec<Why>),
}

impl Fleet {
    /// The record to write under `key`; `None` if it is to be deleted.
    pub fn row(&self, key: &RowKey) -> Option<Row> {
        let view = self.sites.get(key.site())?;
        Some(Row { site: key.site().clone(), body: view.row(key)? })
    }

    /// Restores a projection from its records, in any order.
    pub fn restore(rows: impl IntoIterator<Item = Row>) -> Fleet {
        let mut fleet = Fleet::default();
        rows.into_iter().for_each(|it| fleet.put(it));
        fleet
    }

    /// Replaces a site by its stored records, for a shell whose transaction
    /// failed after the projection had changed.
    pub fn reload(&mut self, site: &SiteName, rows: impl IntoIterator<Item = Row>) {
        self.sites.remove(site);
        self.names.retain(|_, sites| {
            sites.remove(site);
            !sites.is_empty()
        });
        self.changed.forget(site);
        rows.into_iter().filter(|it| it.site == *site).for_each(|it| self.put(it));
    }

    fn put(&mut self, row: Row) {
        let view = self.sites.entry(row.site.clone()).or_default();
        ProjectionWriter::new(&row.site, view, &mut self.names, &mut self.changed).put(row.body);
    }
}

impl SiteView {
    fn row(&self, key: &RowKey) -> Option<RowBody> {
        Some(match key {
            RowKey::Site(_) => RowBody::Site(Box::new(self.head.clone())),
            RowKey::Holds(_) => RowBody::Holds(Box::new(self.holds.clone())),
            RowKey::File(_, path) => RowBody::File(path.clone(), self.files.get(path)?.clone()),
            RowKey::Node(_, node) => {
                RowBody::Node(node.clone(), Box::new(self.nodes.get(node)?.clone()))
            }
            RowKey::Deployment(_, id) => {
                RowBody::Deployment(Box::new(self.deployments.get(id)?.clone()))
            }
            RowKey::Placement(_, id) => RowBody::Placement(Box::new(self.placement(id)?.clone())),
            RowKey::Target(_, name) => {
                RowBody::Target(name.clone(), Box::new(self.central_changes.get(name)?.clone()))
            }
            RowKey::Command(_, number) => {
                RowBody::Command(*number, Box::new(self.commands.get(number)?.clone()))
            }
            RowKey::Archive(_, id) => RowBody::Archive(id.clone(), self.archives.get(id)?.clone()),
            RowKey::Answer(_, key) => RowBody::Answer(key.clone(), self.answers.get(key)?.clone()),
        })
    }
}

impl ProjectionWriter<'_> {
    fn put(&mut self, body: RowBody) {
        match body {
            RowBody::Site(head) => self.view.head = *head,
            RowBody::Holds(holds) => self.view.holds = *holds,
            RowBody::File(path, findings) => drop(self.view.files.insert(path, findings)),
            RowBody::Node(name, node) => drop(self.view.nodes.insert(name, *node)),
            RowBody::Deployment(it) => self.put_deployment(*it),
            RowBody::Placement(it) => self.put_placement(*it),
            RowBody::Target(name, target) => {
                self.link(&name);
                self.view.central_changes.insert(name, *target);
            }
            RowBody::Command(number, it) => drop(self.view.commands.insert(number, *it)),
            RowBody::Archive(id, it) => drop(self.view.archives.insert(id, it)),
            RowBody::Answer(key, whys) => self.put_answer(key, whys),
        }
    }

    fn put_deployment(&mut self, deployment: DeploymentView) {
        let (id, name) = (deployment.id.clone(), deployment.name.clone());
        self.link(&name);
        self.view.names.entry(name).or_default().insert(id.clone());
        self.view.deployments.insert(id, deployment);
    }

    fn put_answer(&mut self, key: AnswerKey, whys: Vec<Why>) {
        if let AnswerKey::File(name) = &key {
            self.link(name);
        }
        self.view.answers.insert(key, whys);
    }

    fn put_placement(&mut self, placement: PlacementView) {
        let id = placement.id.clone();
        self.view.placements.entry(id.deployment).or_default().insert(id.node, placement);
    }
}

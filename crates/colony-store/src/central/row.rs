//! The rows of the projection, as `colony_core::fleet` names them.

use colony_core::fleet::Row;
use colony_core::id::SiteName;

use crate::{CentralStore, Error};

impl CentralStore {
    /// Every row, in no order.
    pub async fn fleet_rows(&self) -> Result<Vec<Row>, Error> {
        todo!()
    }

    /// The rows of one site, in no order.
    pub async fn fleet_rows_of(&self, _site: &SiteName) -> Result<Vec<Row>, Error> {
        todo!()
    }
}

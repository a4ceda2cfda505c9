//! The reconcile driver.

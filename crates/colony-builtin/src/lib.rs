//! The application that comes with colony.

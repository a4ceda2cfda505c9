//! What an X.509-SVID says.

//! queuelet

//! Plugins that change while the host runs (rules 8.1 to 8.5), as far as their files go.
//!
//! A [`watch`] says when to look; a [`folder`] look says what is there, by stamps; the [`machine`]
//! of each plugin decides what becomes of it; [`load`] makes a candidate of its files. What a
//! version's subscriptions do is the host's.

pub(crate) mod folder;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod pins;
pub(crate) mod stamp;
pub(crate) mod surroundings;
pub(crate) mod watch;

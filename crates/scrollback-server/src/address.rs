//! Where the server of a store listens: a file beside the store, so that other processes can ask it for what only it
//! may do.
//!
//! The file says which process wrote it, and how whoever can read it gets in. It counts only while that process holds
//! the store's lock; a file that a killed server left behind leads nowhere.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The word on where a server listens; taken back when it is dropped.
pub(crate) struct Posted(PathBuf);

/// What holds a store and listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A server, which somebody started for that.
    Serve,
    /// A chat, which serves as long as it is open.
    Chat,
}

impl Holder {
    /// The line that says so.
    const fn line(self) -> &'static str {
        match self {
            Self::Serve => "",
            Self::Chat => "chat",
        }
    }
}

impl Posted {
    /// Says where the server of a store listens.
    pub(crate) fn post(store: &Path, what: Holder, address: SocketAddr, pass: &str) -> anyhow::Result<Self> {
        let path = beside(store);
        // One that a killed server left may have been made for others to read.
        let _ = std::fs::remove_file(&path);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let (process, address) = (name(std::process::id()), reachable(address));
        let text = format!("{process}\nhttp://{address}\n{pass}\n{}", what.line());
        let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        // If it stays, it counts no more than one that a killed server left.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Where a server is to be asked, and how to get in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Whereabouts {
    pub(crate) url: String,
    pub(crate) pass: String,
    pub(crate) what: Holder,
}

/// Where the process that holds a store listens, if it is a server.
pub(crate) fn of_holder(store: &Path, holder: &str) -> Option<Whereabouts> {
    let text = std::fs::read_to_string(beside(store)).ok()?;
    let mut lines = text.lines();
    let (process, url, pass) = (lines.next()?, lines.next()?.to_owned(), lines.next()?.to_owned());
    let what = if lines.next() == Some(Holder::Chat.line()) { Holder::Chat } else { Holder::Serve };
    (process == holder).then_some(Whereabouts { url, pass, what })
}

/// The file beside a store, whatever link it was found by.
fn beside(store: &Path) -> PathBuf {
    let own = std::fs::canonicalize(store).unwrap_or_else(|_| store.to_owned());
    PathBuf::from(format!("{}.serve", own.display()))
}

/// A process, as the lock of a store names it.
fn name(process: u32) -> String {
    format!("process {process}")
}

/// An address that can be connected to: who listens everywhere listens here.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()),
        IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), address.port()),
        IpAddr::V4(_) | IpAddr::V6(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_counts_for_its_own_process() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("log.db");
        let posted = Posted::post(&store, Holder::Chat, "0.0.0.0:4141".parse().unwrap(), "sb_1").unwrap();
        let own = name(std::process::id());
        let there = Whereabouts { url: "http://127.0.0.1:4141".into(), pass: "sb_1".into(), what: Holder::Chat };
        assert_eq!(of_holder(&store, &own), Some(there));
        assert_eq!(of_holder(&store, "process 0"), None);
        drop(posted);
        assert_eq!(of_holder(&store, &own), None);
    }
}

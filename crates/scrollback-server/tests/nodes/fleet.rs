//! Nodes as processes that can be killed and started again, and the way between them and their database, which can be
//! cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::scene::postgres::{free_port, wait_for};

/// A node that listens at one place however often it is started.
pub(crate) struct Node {
    pub(crate) port: u16,
    store: String,
    config: std::path::PathBuf,
    process: Mutex<Option<Child>>,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Node {
    pub(crate) fn start(store: &str, upstream: u16, settings: &str, folder: &std::path::Path) -> Self {
        let port = free_port();
        let config = folder.join(format!("node{port}.toml"));
        let text = format!(
            "[serve]\nupstream = \"mock\"\n[upstreams.mock]\nurl = \"http://127.0.0.1:{upstream}/v1\"\n{settings}"
        );
        std::fs::write(&config, text).unwrap();
        let node = Self { port, store: store.to_owned(), config, process: Mutex::new(None) };
        node.launch();
        wait_for(port);
        node
    }

    /// Starts it, if it does not run.
    pub(crate) fn launch(&self) {
        let mut process = self.process.lock().unwrap();
        if process.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none()) {
            return;
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
        command.args(["serve", "--listen", &format!("127.0.0.1:{}", self.port), "--store", &self.store, "--config"]);
        command.arg(&self.config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        *process = Some(command.spawn().unwrap());
    }

    /// Ends it at once.
    pub(crate) fn kill(&self) {
        if let Some(mut child) = self.process.lock().unwrap().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A way to a port that can be cut.
pub(crate) struct Way {
    pub(crate) port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Way {
    pub(crate) fn to(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let kept = open.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(("127.0.0.1", target)) else { continue };
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                kept.lock().unwrap().extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                carry(near.try_clone().unwrap(), far.try_clone().unwrap());
                carry(far, near);
            }
        });
        Self { port, open }
    }

    /// Breaks every connection that goes over it.
    pub(crate) fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Carries bytes one way until it ends.
fn carry(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let mut piece = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut piece) {
            if to.write_all(&piece[..count]).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}

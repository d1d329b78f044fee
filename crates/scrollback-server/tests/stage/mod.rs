//! What tests with real clients share: processes that end with their test, and clients of fixed versions under `target/clients`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A process that says where it listens.
pub(crate) struct Running {
    process: Ended,
    pub(crate) address: String,
}

impl Running {
    pub(crate) fn start(command: &mut Command, home: &Path, name: &str) -> Self {
        let told = home.join(format!("{name}.log"));
        let mut process = Ended(into(command, &told).spawn().unwrap());
        let begun = Instant::now();
        loop {
            let said = read(&told);
            let line = said.lines().find_map(|line| line.split_once("listening on "));
            if let Some((_, address)) = line.filter(|_| said.ends_with('\n')) {
                return Self { address: address.trim().to_owned(), process };
            }
            let ended = process.0.try_wait().unwrap();
            assert!(ended.is_none() && begun.elapsed() < Duration::from_secs(30), "{name} does not start: {said}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Asks it to end, as an operator would.
    pub(crate) fn stops(&mut self) {
        let id = self.process.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(self.process.within(Duration::from_secs(20)), Some(true), "the server does not stop when told to");
    }
}

/// A process that does not outlive its test.
pub(crate) struct Ended(pub(crate) Child);

impl Ended {
    /// Whether it succeeded; `None` if it has not ended in time.
    pub(crate) fn within(&mut self, patience: Duration) -> Option<bool> {
        let begun = Instant::now();
        while begun.elapsed() < patience {
            if let Some(status) = self.0.try_wait().unwrap() {
                return Some(status.success());
            }
            sleep(Duration::from_millis(50));
        }
        None
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A command whose output goes to a file.
pub(crate) fn into<'a>(command: &'a mut Command, path: &Path) -> &'a mut Command {
    let file = File::create(path).unwrap();
    command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file)
}

pub(crate) fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// Where clients are kept between runs.
pub(crate) fn cache() -> PathBuf {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("clients");
    fs::create_dir_all(&cache).unwrap();
    cache
}

/// Installs something unless that was done before; tests that run at once wait for each other. Whether it is there.
pub(crate) fn installed(home: &Path, version: &str, install: impl FnOnce() -> bool) -> bool {
    let lock = File::create(home.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let done = home.with_extension("installed");
    if read(&done) != version {
        if !install() {
            return false;
        }
        fs::write(done, version).unwrap();
    }
    true
}

//! What tests with real clients share: processes that end with their test, and clients of fixed versions under
//! `target/clients`.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
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

    /// The same of one that tells how it gets on: `None` if it says nothing for so long. How fast it is depends on the
    /// machine.
    pub(crate) fn while_it_tells(&mut self, told: &Path, silence: Duration) -> Option<bool> {
        loop {
            let said = read(told).len();
            let ended = self.within(silence);
            if ended.is_some() || read(told).len() == said {
                return ended;
            }
        }
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

/// A folder with packages of npm of these versions. Others are kept elsewhere, because another checkout may be using
/// them.
#[allow(dead_code, reason = "not every suite has packages of its own")]
pub(crate) fn npm(kind: &str, packages: &[&str]) -> PathBuf {
    let home = versioned(kind, &packages.join(" "));
    installed(&home, &packages.join(" "), || {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save"]).args(packages).arg("--prefix").arg(&home);
        run(&mut npm, "installing packages for Node (Debian: nodejs, npm), which needs the network");
        fs::write(home.join("package.json"), "{}").unwrap();
        true
    });
    home
}

/// A Python that has the libraries that tests use.
#[allow(dead_code, reason = "not every suite has packages of its own")]
pub(crate) fn python() -> PathBuf {
    let wanted = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stage/requirements.txt");
    let versions = read(&wanted);
    let home = versioned("python", &versions);
    let python = home.join("bin/python");
    installed(&home, &versions, || {
        let _ = fs::remove_dir_all(&home);
        // The newest pip is twice as quick as the one that comes with an older Python.
        let mut venv = Command::new("python3");
        run(venv.args(["-m", "venv", "--upgrade-deps"]).arg(&home), "python3 -m venv (Debian: python3-venv)");
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "-r"]).arg(wanted);
        run(&mut pip, "installing the Python libraries, which needs the network");
        true
    });
    python
}

/// Has Python keep what it compiles, and not beside the sources.
#[allow(dead_code, reason = "not every suite is in Python")]
pub(crate) fn compiling(python: &mut Command) -> &mut Command {
    python.env("PYTHONPYCACHEPREFIX", cache().join("compiled"))
}

/// Where something of these versions is kept.
#[allow(dead_code, reason = "not every suite has packages of its own")]
pub(crate) fn versioned(kind: &str, versions: &str) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    versions.hash(&mut hasher);
    cache().join(format!("{kind}-{:016x}", hasher.finish()))
}

/// Runs a command that must succeed.
#[allow(dead_code, reason = "not every suite has packages of its own")]
pub(crate) fn run(command: &mut Command, what: &str) {
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {command:?}: {error}"));
    assert!(output.status.success(), "{what} failed: {}", String::from_utf8_lossy(&output.stderr));
}

//! A real PostgreSQL for tests: one that all test processes share, which stops by itself when nobody uses it any more,
//! and ones of a test's own, to be killed and restarted.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What makes a server quick that may lose everything.
pub const FORGETFUL: &str = "fsync=off\nsynchronous_commit=off\nfull_page_writes=off\n";
/// What every server is told.
const USUAL: &str =
    "shared_buffers=64MB\nmax_connections=300\nlisten_addresses='127.0.0.1'\nautovacuum=off\nlog_min_messages=fatal\n";
/// The shared server stops after nobody used it for about so many seconds.
const IDLE_SECONDS: u32 = 40;

/// The address of a place in the shared server where nothing is yet.
pub fn fresh() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let server = shared();
    let schema = format!("t{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    server.sql(&format!("CREATE SCHEMA {schema}"));
    format!("{}?options=-c%20search_path%3D{schema}", server.url())
}

/// The server that all test processes share.
pub fn shared() -> &'static Server {
    static SHARED: OnceLock<(Server, File)> = OnceLock::new();
    &SHARED.get_or_init(Server::join).0
}

/// A running PostgreSQL.
pub struct Server {
    folder: PathBuf,
    port: u16,
    /// Whether it is this test's own, and stops with it.
    own: bool,
}

impl Server {
    /// Joins the shared server, or starts it. Who holds the file uses it.
    fn join() -> (Self, File) {
        let folder = shared_folder();
        let starting = locked(&folder.with_extension("lock"));
        let using = open(&folder.with_extension("users"));
        using.lock_shared().expect("a lock");
        let known = std::fs::read_to_string(folder.join("port")).ok().and_then(|port| port.trim().parse().ok());
        let running = known.map(|port| Self { folder: folder.clone(), port, own: false }).filter(Self::answers);
        let server = running.unwrap_or_else(|| {
            let _ = std::fs::remove_dir_all(&folder);
            let mut server = Self::start_in(folder.clone(), FORGETFUL);
            server.own = false;
            std::fs::write(folder.join("port"), server.port.to_string()).expect("written");
            watch(&folder);
            server
        });
        drop(starting);
        (server, using)
    }

    /// A server of one's own, with some settings.
    pub fn start(settings: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("scrollback-postgres-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self::start_in(std::env::temp_dir().join(name), settings)
    }

    fn start_in(folder: PathBuf, settings: &str) -> Self {
        create(&folder);
        run(as_owner("initdb").arg("-D").arg(&folder).args(["-U", "postgres", "-A", "trust", "-E", "UTF8"]).args([
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        ]));
        let server = Self { port: free_port(), folder, own: true };
        server.configure(settings);
        server.launch();
        server
    }

    /// A replica of this server, which follows it.
    pub fn replica(&self, settings: &str) -> Self {
        let folder = self.folder.with_extension(format!("replica{}", free_port()));
        let from = format!("host=127.0.0.1 port={} user=postgres application_name=replica", self.port);
        run(as_owner("pg_basebackup").arg("-D").arg(&folder).args(["-d", &from, "-R", "-X", "stream", "-c", "fast"]));
        let server = Self { port: free_port(), folder, own: true };
        server.configure(settings);
        server.launch();
        server
    }

    fn configure(&self, settings: &str) {
        let socket = format!("port={}\nunix_socket_directories='{}'\n", self.port, self.folder.display());
        let text = format!("\n{USUAL}{socket}{settings}");
        let path = self.folder.join("postgresql.conf");
        let before = std::fs::read_to_string(&path).expect("settings");
        std::fs::write(path, before + &text).expect("written");
    }

    /// Gives it a certificate for `localhost` that nobody but itself vouches for, and returns the file.
    pub fn certify(&self) -> PathBuf {
        let [key, certificate] = ["server.key", "server.crt"].map(|name| self.folder.join(name));
        run(Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&certificate));
        if is_root() {
            run(Command::new("chown").arg("postgres:").args([&key, &certificate]));
        }
        run(Command::new("chmod").arg("600").arg(&key));
        self.sql("ALTER SYSTEM SET ssl = on");
        self.sql("SELECT pg_reload_conf()");
        certificate
    }

    /// Its database.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Starts it (again).
    pub fn launch(&self) {
        let log = self.folder.join("server.log");
        run(as_owner("pg_ctl").arg("-D").arg(&self.folder).arg("-l").arg(log).args(["-w", "-t", "60", "start"]));
    }

    /// Stops it: `fast`, or `immediate` as in a crash.
    pub fn stop(&self, how: &str) {
        run(as_owner("pg_ctl").arg("-D").arg(&self.folder).args(["-m", how, "-w", "stop"]));
    }

    /// Makes a replica the one that is written to.
    pub fn promote(&self) {
        run(as_owner("pg_ctl").arg("-D").arg(&self.folder).args(["-w", "promote"]));
    }

    /// Runs SQL, and returns what it says, line by line.
    pub fn sql(&self, sql: &str) -> String {
        let url = self.url();
        let mut psql = Command::new(program("psql"));
        psql.args(["-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-d", &url, "-c", sql]).current_dir("/");
        let out = psql.output().expect("psql runs");
        assert!(out.status.success(), "{sql}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    }

    fn answers(&self) -> bool {
        Command::new(program("pg_isready"))
            .args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()])
            .status()
            .is_ok_and(|status| status.success())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.own {
            let mut stop = as_owner("pg_ctl");
            let _ = quietly(stop.arg("-D").arg(&self.folder).args(["-m", "immediate", "-w", "stop"])).status();
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Where the shared server lives: one for each copy of the source, where its user can reach it.
fn shared_folder() -> PathBuf {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_MANIFEST_DIR").hash(&mut hasher);
    std::env::temp_dir().join(format!("scrollback-postgres-{:016x}", hasher.finish()))
}

/// Stops the shared server when nobody uses it any more. The shell outlives this process.
fn watch(folder: &Path) {
    let script = format!(
        "idle=0
         while [ $idle -lt {IDLE_SECONDS} ]; do
           sleep 5
           if flock -n -x '{folder}.users' true; then idle=$((idle + 5)); else idle=0; fi
           [ -d '{folder}' ] || exit 0
         done
         exec 9>'{folder}.lock'; flock -x 9
         flock -n -x '{folder}.users' true || exec sh -c \"$0\"
         {stop} -D '{folder}' -m immediate stop; rm -rf '{folder}' '{folder}.users' '{folder}.lock'",
        folder = folder.display(),
        stop = shell("pg_ctl"),
    );
    let mut sh = Command::new("setsid");
    let watcher = quietly(sh.args(["sh", "-c", &script, &script])).spawn().expect("a shell");
    // It outlives this process, and is waited for by whoever adopts it.
    std::mem::forget(watcher);
}

fn open(path: &Path) -> File {
    OpenOptions::new().create(true).truncate(false).write(true).open(path).expect("a lock file")
}

fn locked(path: &Path) -> File {
    let file = open(path);
    file.lock().expect("a lock");
    file
}

/// Creates a folder for the server's user alone.
fn create(folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder");
    if is_root() {
        run(Command::new("chown").arg("postgres:").arg(folder));
    }
}

/// The newest installed version's programs.
fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is installed (./test does it)");
    let mut versions: Vec<PathBuf> = versions.filter_map(|entry| Some(entry.ok()?.path())).collect();
    versions.sort_by_key(|path| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok()));
    versions.last().expect("PostgreSQL is installed (./test does it)").join("bin").join(name)
}

fn is_root() -> bool {
    static ROOT: OnceLock<bool> = OnceLock::new();
    *ROOT.get_or_init(|| Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.trim_ascii() == b"0"))
}

/// A program of PostgreSQL, as a user that is not root: it refuses that one.
fn as_owner(name: &str) -> Command {
    if !is_root() {
        return Command::new(program(name));
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program(name));
    command
}

fn shell(name: &str) -> String {
    let program = program(name).display().to_string();
    if is_root() { format!("runuser -u postgres -- {program}") } else { program }
}

fn quietly(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/")
}

/// What is started must not hold on to our output, so none is heard; its status tells enough.
fn run(command: &mut Command) {
    let status = quietly(command).status().expect("it runs");
    assert!(status.success(), "{command:?}: {status}");
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

/// Waits until something listens.
pub fn wait_for(port: u16) {
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < Duration::from_mins(1), "nothing listens on {port}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

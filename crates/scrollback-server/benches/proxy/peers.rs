//! Who stands between client and upstream: nobody, nginx, or Scrollback; and the upstream itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::dialect::Dialect;

/// An upstream that answers at once, on its own threads.
pub(crate) fn upstream() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    port
}

fn answer(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::with_capacity(1 << 16, stream.try_clone().unwrap());
    let mut buffer = Vec::new();
    while let Some((dialect, length)) = head(&mut reader) {
        buffer.resize(length, 0);
        if reader.read_exact(&mut buffer).is_err() {
            return;
        }
        let tail = &buffer[buffer.len().saturating_sub(64)..];
        let streams = tail.windows(13).any(|window| window == b"\"stream\":true");
        let sent = if streams { streamed(&mut stream, dialect) } else { plain(&mut stream, dialect) };
        if sent.is_err() {
            return;
        }
    }
}

fn plain(stream: &mut TcpStream, dialect: Dialect) -> std::io::Result<()> {
    let body = dialect.reply();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + body).as_bytes())
}

/// Reads a request's head and returns what it speaks and the length of its body.
fn head(reader: &mut impl BufRead) -> Option<(Dialect, usize)> {
    let (mut line, mut length, mut dialect) = (String::new(), 0, None);
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            return Some((dialect?, length));
        }
        dialect = dialect.or_else(|| Some(Dialect::of_line(&line)));
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
}

fn streamed(stream: &mut TcpStream, dialect: Dialect) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
    for event in dialect.events() {
        stream.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
    }
    stream.write_all(b"0\r\n\r\n")
}

/// A process that is ended when it is let go.
pub(crate) struct Running {
    child: Child,
    pub(crate) port: u16,
    pub(crate) pid: u32,
    pub(crate) folder: Option<tempfile::TempDir>,
    pub(crate) started: Duration,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// nginx as a plain proxy, if it is installed.
pub(crate) fn nginx(upstream: u16) -> Option<Running> {
    let program = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).exists())?;
    let folder = tempfile::tempdir().unwrap();
    let (port, at) = (free_port(), folder.path().display());
    let config = format!(
        "worker_processes 1; daemon off; pid {at}/pid; error_log /dev/null;
         events {{ worker_connections 256; }}
         http {{ access_log off; client_body_temp_path {at}; proxy_temp_path {at}; fastcgi_temp_path {at}; uwsgi_temp_path {at}; scgi_temp_path {at};
           client_max_body_size 100m; client_body_buffer_size 64m; tcp_nodelay on;
           upstream up {{ server 127.0.0.1:{upstream}; keepalive 64; keepalive_requests 1000000; }}
           server {{ listen 127.0.0.1:{port}; keepalive_requests 1000000;
             location / {{ proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off; proxy_request_buffering off; }} }} }}"
    );
    std::fs::write(folder.path().join("nginx.conf"), config).unwrap();
    let mut command = Command::new(program);
    command.arg("-c").arg(folder.path().join("nginx.conf")).stderr(Stdio::null());
    Some(started(command, port, Some(folder)))
}

/// Scrollback with settings of its own.
pub(crate) fn scrollback(upstream: u16, durability: &str) -> Running {
    let folder = tempfile::tempdir_in(std::env::var("BENCH_FOLDER").unwrap_or_else(|_| "/var/tmp".into())).unwrap();
    let config = format!(
        "[store]\ndurability = \"{durability}\"\n[serve]\nupstream = \"mock\"\n[upstreams.mock]\nurl = \"http://127.0.0.1:{upstream}/v1\"\n"
    );
    let file = folder.path().join("scrollback.toml");
    std::fs::write(&file, config).unwrap();
    let port = free_port();
    let mut command = Command::new(env!("CARGO_BIN_EXE_scrollback"));
    command.arg("serve").arg("--listen").arg(format!("127.0.0.1:{port}"));
    command.arg("--config").arg(file).arg("--store").arg(store(&folder)).stderr(Stdio::null());
    started(command, port, Some(folder))
}

pub(crate) fn store(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("log.db")
}

fn started(mut command: Command, port: u16, folder: Option<tempfile::TempDir>) -> Running {
    let began = Instant::now();
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < Duration::from_secs(10), "it does not start");
        std::thread::sleep(Duration::from_micros(500));
    }
    let pid = child.id();
    Running { child, port, pid, folder, started: began.elapsed() }
}

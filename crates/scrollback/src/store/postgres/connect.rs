//! The way to the database: what a URL says, encryption, and a bounded set of connections.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Timeouts};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresOptions;
use crate::error::{Error, Result};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// After how much silence it is asked whether the other side is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A database's address, as far as it is understood.
pub(super) struct Address {
    config: Config,
    check: Check,
}

/// Whether the database has to prove who it is.
enum Check {
    /// No: what is sent is encrypted if the URL asks for it, as with other programs.
    Nobody,
    /// By a certificate from those this machine trusts.
    Machine,
    /// By a certificate from those in a file.
    File(PathBuf),
}

impl Address {
    /// Reads a URL. Beyond what the driver knows, `sslmode=verify-full` and `sslrootcert` mean what they do elsewhere.
    pub(super) fn read(url: &str) -> Result<Self> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        // The driver knows its name in small letters only.
        let small = |(scheme, rest): (&str, &str)| format!("{}://{rest}", scheme.to_ascii_lowercase());
        let base = base.split_once("://").map_or_else(|| base.to_owned(), small);
        let mut check = Check::Nobody;
        let mut kept: Vec<String> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", "verify-full" | "verify-ca")) => {
                    kept.push("sslmode=require".into());
                    check = if let Check::File(file) = check { Check::File(file) } else { Check::Machine };
                }
                Some(("sslrootcert", "system")) => check = Check::Machine,
                Some(("sslrootcert", file)) => check = Check::File(PathBuf::from(file.replace("%2F", "/"))),
                _ => kept.push(pair.to_owned()),
            }
        }
        let plain = if kept.is_empty() { base } else { format!("{base}?{}", kept.join("&")) };
        // The URL is not repeated: it holds a password.
        let unreadable = |cause: tokio_postgres::Error| {
            let why = std::error::Error::source(&cause).map_or_else(|| cause.to_string(), ToString::to_string);
            Error::Invalid(format!(
                "the address of the database is not understood ({why}); it looks like postgres://user:password@host:5432/database"
            ))
        };
        let config: Config = plain.parse().map_err(unreadable)?;
        Ok(Self { config, check })
    }

    /// The database in words, without its password: `host:port/name`.
    pub(super) fn place(&self) -> String {
        let host = |(i, host): (usize, &Host)| {
            let port = self.config.get_ports().get(i).or(self.config.get_ports().first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                #[cfg(unix)]
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        };
        let hosts: Vec<String> = self.config.get_hosts().iter().enumerate().map(host).collect();
        let name = self.config.get_dbname().or(self.config.get_user()).unwrap_or("postgres");
        format!("PostgreSQL at {}/{name}", hosts.join(","))
    }

    /// A bounded set of connections. None is made before it is needed.
    pub(super) fn pool(mut self, options: &PostgresOptions) -> Result<Pool> {
        let limit = options.timeout.as_millis();
        // Set with the connection, so that no statement ever runs without. None of them is worth being compiled.
        let bounds = format!(
            "-c jit=off -c statement_timeout={limit} -c lock_timeout={limit} -c idle_in_transaction_session_timeout={}",
            2 * limit
        );
        let said = self.config.get_options().map_or_else(String::new, |said| format!("{said} "));
        self.config.options(format!("{said}{bounds}"));
        if self.config.get_application_name().is_none() {
            self.config.application_name("scrollback");
        }
        if self.config.get_connect_timeout().is_none() {
            self.config.connect_timeout(CONNECT);
        }
        self.config.keepalives_idle(KEEPALIVE).tcp_user_timeout(options.timeout + CONNECT);
        let tls = MakeRustlsConnect::new(self.tls()?);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let timeouts = Timeouts { wait: Some(options.wait), create: Some(CONNECT + CONNECT), recycle: Some(CONNECT) };
        Pool::builder(Manager::from_config(self.config, tls, recycling))
            .max_size(options.connections.max(1))
            .timeouts(timeouts)
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|cause| Error::store("the connections could not be set up", cause))
    }

    fn tls(&self) -> Result<ClientConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = match (&self.check, self.config.get_ssl_mode()) {
            (Check::Nobody, _) | (_, SslMode::Disable) => Arc::new(Anybody(provider.clone())),
            (Check::Machine, _) => verifier(machine_roots(), &provider)?,
            (Check::File(file), _) => verifier(roots_in(file)?, &provider)?,
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|cause| Error::store("encryption could not be set up", cause))?;
        Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
    }
}

fn verifier(roots: RootCertStore, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>> {
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    Ok(built.map_err(|cause| Error::store("no certificates to check the database by were found", cause))?)
}

fn machine_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn roots_in(file: &PathBuf) -> Result<RootCertStore> {
    let unreadable =
        |why: String| Error::Invalid(format!("the certificates in {} cannot be used: {why}", file.display()));
    let certificates = CertificateDer::pem_file_iter(file).map_err(|cause| unreadable(cause.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|cause| unreadable(cause.to_string()))?;
        roots.add(certificate).map_err(|cause| unreadable(cause.to_string()))?;
    }
    Ok(roots)
}

/// Takes any certificate: what is sent is encrypted, and goes to whoever answers. `sslmode=require` means that
/// elsewhere too; `verify-full` asks for proof.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_says_where_and_never_the_password() {
        let address = Address::read("postgres://ann:secret@db.example:6543/log?sslmode=verify-full").unwrap();
        assert_eq!(address.place(), "PostgreSQL at db.example:6543/log");
        assert!(matches!(address.check, Check::Machine));
        assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
        let loud = Address::read("POSTGRES://ann:secret@db.example/log").unwrap();
        assert_eq!(loud.place(), "PostgreSQL at db.example:5432/log");
        let two = Address::read("postgres://a@one,two:5433/log?target_session_attrs=read-write").unwrap();
        assert_eq!(two.place(), "PostgreSQL at one:5432,two:5433/log");
    }

    #[test]
    fn what_is_no_address_is_told_without_its_password() {
        for url in ["postgres://ann:secret@db/log?colour=blue", "postgres://ann:secret@db:port/log"] {
            let told = Address::read(url).err().unwrap().to_string();
            assert!(told.contains("not understood") && !told.contains("secret"), "{told}");
        }
    }

    #[test]
    fn certificates_may_come_from_a_file() {
        let address = Address::read("postgres://a@b/c?sslmode=verify-full&sslrootcert=%2Fno%2Fsuch.pem").unwrap();
        assert!(address.tls().unwrap_err().to_string().contains("/no/such.pem"));
    }
}

//! Certificates of an authority that lives as long as a test, and TLS before any server on
//! loopback: what comes over TLS goes on in the clear.

use crate::loopback::{Tasks, listen};
use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Years of a certificate that is good, and of one whose time is over.
const GOOD: (i32, i32) = (2020, 4000);
const OVER: (i32, i32) = (2020, 2021);

/// Who issues certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// Whether a certificate may still be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// It may.
    Good,
    /// Its time is over.
    Over,
}

impl Authority {
    /// One that nobody else knows.
    ///
    /// # Errors
    /// When no key can be made.
    pub fn new() -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "An authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), pem })
    }

    /// Its own certificate, in PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for this name, and its key, in PEM.
    ///
    /// # Errors
    /// When none can be made.
    pub fn issue(&self, name: &str) -> anyhow::Result<(String, String)> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new([name.to_owned()])?.signed_by(&key, &self.issuer)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }

    /// TLS before a server, with a certificate for this name or address.
    ///
    /// # Errors
    /// When no certificate can be made, or no port is free.
    pub async fn before(&self, server: &str, name: &str, validity: Validity) -> anyhow::Result<TlsFront> {
        let server: SocketAddr = server.parse().with_context(|| format!("{server} is no address"))?;
        let mut params = CertificateParams::new([name.to_owned()])?;
        let (from, until) = if validity == Validity::Good { GOOD } else { OVER };
        (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(until, 1, 1));
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        TlsFront::start(Arc::new(config), server).await
    }
}

/// Where TLS ends; dropping it ends it.
pub struct TlsFront {
    port: u16,
    _tasks: Tasks,
}

impl TlsFront {
    async fn start(config: Arc<ServerConfig>, server: SocketAddr) -> anyhow::Result<Self> {
        let (listener, address) = listen().await?;
        let acceptor = TlsAcceptor::from(config);
        let accepting = tokio::spawn(async move {
            // Owned by this task: aborting it ends the connections, too.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                connections.spawn(async move {
                    // Who trusts the certificate not is gone, and so is who has heard enough.
                    let Ok(mut secured) = acceptor.accept(stream).await else { return };
                    let Ok(mut plain) = TcpStream::connect(server).await else { return };
                    let _ = copy_bidirectional(&mut secured, &mut plain).await;
                });
            }
        });
        Ok(Self { port: address.port(), _tasks: Tasks::of(accepting.abort_handle()) })
    }

    /// The address and its port.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of a path such as `/a.pdf`.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.host())
    }
}

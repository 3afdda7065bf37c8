//! TLS to a server: rustls, with certificates that are verified in any case.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;

/// Trusts the public authorities, and those of this PEM.
pub(super) fn client(authorities: &[u8]) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in CertificateDer::pem_slice_iter(authorities) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let client = client.map_err(|error| error.to_string())?;
    Ok(Arc::new(client.with_root_certificates(roots).with_no_client_auth()))
}

// Package eidas makes and checks the certificates with which payment services identify each other:
// QWACs for connections, QSealCs for requests.
//
// It owns a test authority, the certificates of this authority, and the encoding of PSD2 roles in
// certificates (ETSI TS 119 495). The authority must not be trusted outside of tests. The package
// opens no connections and keeps no state. Judge and HasRole fail with a Fault, the reason for
// which a bank refuses the certificate.
package eidas

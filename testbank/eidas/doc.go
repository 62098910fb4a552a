// Package eidas makes and checks the certificates by which payment services recognise each
// other: QWACs for connections, QSealCs for requests.
//
// It owns a test authority, the certificates it issues for a third party, and the
// encoding of the PSD2 roles in them (ETSI TS 119 495). Nobody should trust the
// authority outside of tests. It does not open connections and keeps no state.
// Judging fails with a Fault that says in which way a certificate is not good.
package eidas

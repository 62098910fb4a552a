package delivery

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"sync"
)

// maxTrusts limits the number of clients that trust additional certificate authorities. Each client
// has separate connections, because it may refuse a server that another client trusts.
const maxTrusts = 64

// trusts caches the clients that trust additional certificate authorities. The text of these
// authorities identifies a client. The most recently used client is last.
type trusts struct {
	mu   sync.Mutex
	kept []trust
}

type trust struct {
	authorities string
	client      *http.Client
}

// client returns a copy of base that also trusts the authorities in a PEM text.
func (t *trusts) client(base *http.Client, authorities string) (*http.Client, error) {
	if authorities == "" {
		return base, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found := slices.IndexFunc(t.kept, func(k trust) bool { return k.authorities == authorities })
	if found >= 0 {
		known := t.kept[found]
		t.kept = append(slices.Delete(t.kept, found, found+1), known)
		return known.client, nil
	}
	client, err := trusting(base, authorities)
	if err != nil {
		return nil, err
	}
	if len(t.kept) == maxTrusts {
		t.kept[0].client.CloseIdleConnections()
		t.kept = slices.Delete(t.kept, 0, 1)
	}
	t.kept = append(t.kept, trust{authorities, client})
	return client, nil
}

// trusting returns a client that trusts the certificate authorities of the system and the
// additional authorities.
func trusting(base *http.Client, authorities string) (*http.Client, error) {
	guarded, ok := base.Transport.(bounded)
	if !ok {
		return nil, errors.New("delivery: the client was not made by NewClient")
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM([]byte(authorities))
	transport := guarded.Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	client := *base
	client.Transport = bounded{transport, guarded.most}
	return &client, nil
}

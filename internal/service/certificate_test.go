package service_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"passerelle/internal/httpd"
	"passerelle/internal/service"
	"passerelle/internal/store/storetest"
)

// TestMetricsShowWhenTheCertificateEnds: the metrics have the expiry time of the service's own
// certificate. A service without a certificate has no such metric.
func TestMetricsShowWhenTheCertificateEnds(t *testing.T) {
	donor := httptest.NewTLSServer(http.NotFoundHandler())
	defer donor.Close()
	pair := donor.TLS.Certificates[0]
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	chain, key := filepath.Join(t.TempDir(), "chain"), filepath.Join(t.TempDir(), "key")
	err = errors.Join(err,
		os.WriteFile(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	own, err := httpd.LoadCertificate(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		certificate *httpd.ServerCertificate
		want        []float64
	}{{own, []float64{float64(donor.Certificate().NotAfter.Unix())}}, {nil, nil}} {
		s := opened(t, service.Config{Database: storetest.SQLite(t), Certificate: test.certificate})
		families, err := service.Metrics(s).(prometheus.Gatherer).Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		for _, family := range families {
			if family.GetName() == "passerelle_certificate_expiry_timestamp_seconds" {
				got = append(got, family.GetMetric()[0].GetGauge().GetValue())
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("the expiry times (-want +got):\n%s", diff)
		}
	}
}

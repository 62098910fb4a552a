package otlp

import (
	"math"
	"net/url"
	"strings"

	"passerelle"
	"passerelle/internal/secretfile"
)

// ReceiverFlags has the flags that define where to send traces.
type ReceiverFlags struct {
	OTLPEndpoint    string  `name:"otlp-endpoint" placeholder:"URL" help:"Receiver of OpenTelemetry traces, OTLP over HTTP, such as http://127.0.0.1:4318. Without it, there are no traces."`
	OTLPHeadersFile string  `name:"otlp-headers-file" placeholder:"FILE" help:"File with headers for --otlp-endpoint, one Name: value per line, readable only by its owner."`
	TraceRatio      float64 `default:"1" help:"Share of the traces to record, from 0 to 1."`
}

// Config checks the flags, and returns the configuration.
func (f ReceiverFlags) Config() (Config, error) {
	c := Config{Endpoint: f.OTLPEndpoint, Ratio: f.TraceRatio}
	if math.IsNaN(c.Ratio) || c.Ratio < 0 || c.Ratio > 1 {
		return c, passerelle.InvalidField("--trace-ratio", "must be between 0 and 1, such as 0.1 for a tenth")
	}
	at, err := url.Parse(c.Endpoint)
	if c.Endpoint != "" && (err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "") {
		return c, passerelle.InvalidField("--otlp-endpoint", "must be a URL such as https://collector.example:4318, without a password or a query")
	}
	text, err := secretfile.Text("--otlp-headers-file", f.OTLPHeadersFile)
	if err != nil {
		return c, err
	}
	c.Headers, err = headers(text)
	return c, err
}

func headers(text string) (map[string]string, error) {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimSpace(line), ":")
		if !found || name == "" {
			return nil, passerelle.InvalidField("--otlp-headers-file", "each line must be a header such as Authorization: Bearer 123")
		}
		all[name] = strings.TrimSpace(value)
	}
	return all, nil
}

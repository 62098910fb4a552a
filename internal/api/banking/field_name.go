package banking

import (
	"context"

	"passerelle/internal/httpapi"
)

// fieldNames returns the names of all fields that a connector can request for a new connection. It
// returns no names for an unknown connector.
func (s *Service) fieldNames(name string) []string {
	var names []string
	if reader, known := s.Aggregation.Connectors.DataReader(name); known {
		for _, f := range reader.Profile().Data.Fields {
			names = append(names, f.Name)
		}
	}
	return names
}

// fieldNamesOf returns the names of all fields that a client may send for a connection. These are
// the fields of its connector and the fields that its institution requests.
func (s *Service) fieldNamesOf(ctx context.Context, c *httpapi.Caller, at oneConnectionInput) ([]string, error) {
	one, err := s.connection(ctx, c, at)
	if err != nil {
		return nil, err
	}
	asked, err := one.Asked()
	return append(s.fieldNames(one.Connector), asked...), err
}

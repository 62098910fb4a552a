package banking

import (
	"encoding/json"
	"fmt"

	"passerelle/internal/bankstore"
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
func (s *Service) fieldNamesOf(c bankstore.Connection) ([]string, error) {
	names := s.fieldNames(c.Connector)
	if c.Fields == "" {
		return names, nil
	}
	var asked []struct{ Name string }
	if err := json.Unmarshal([]byte(c.Fields), &asked); err != nil {
		return nil, fmt.Errorf("read the fields that connection %d needs: %w", c.ID, err)
	}
	for _, f := range asked {
		names = append(names, f.Name)
	}
	return names, nil
}

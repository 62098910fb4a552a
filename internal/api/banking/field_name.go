package banking

import (
	"encoding/json"
	"fmt"

	"passerelle/internal/bankstore"
)

// fieldNames are the names of the values that a connector takes, named as for a new
// connection; none when there is no such connector.
func (s *Service) fieldNames(name string) []string {
	var names []string
	if reader, known := s.Aggregation.Connectors.DataReader(name); known {
		for _, f := range reader.Profile().Data.Fields {
			names = append(names, f.Name)
		}
	}
	return names
}

// fieldNamesOf are the names of the values that a connection takes now: those of
// its connector, and what its institution asks for.
func (s *Service) fieldNamesOf(c bankstore.Connection) ([]string, error) {
	names := s.fieldNames(c.Connector)
	if c.Fields == "" {
		return names, nil
	}
	var asked []struct{ Name string }
	if err := json.Unmarshal([]byte(c.Fields), &asked); err != nil {
		return nil, fmt.Errorf("read what connection %d is asked for: %w", c.ID, err)
	}
	for _, f := range asked {
		names = append(names, f.Name)
	}
	return names, nil
}

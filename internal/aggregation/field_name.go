package aggregation

import (
	"encoding/json"
	"fmt"

	"passerelle/internal/store"
)

// FieldNames are the names of the values that a connector takes, given as for
// Connect; none when there is no such connector.
func (a *Aggregation) FieldNames(name string) []string {
	var names []string
	if reader, known := a.Connectors.DataReader(name); known {
		for _, f := range reader.Profile().Data.Fields {
			names = append(names, f.Name)
		}
	}
	return names
}

// FieldNamesOf are the names of the values that a connection takes now: those of
// its connector, and what its institution asks for.
func (a *Aggregation) FieldNamesOf(c store.Connection) ([]string, error) {
	names := a.FieldNames(c.Connector)
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

package main

import (
	"errors"
	"fmt"
	"time"

	"passerelle"
	"passerelle/internal/store"
)

type maintenanceCommand struct {
	databaseFlag
	On     maintenanceOn     `cmd:"" help:"Respond to every API call with 503. Webhooks and background work continue."`
	Off    maintenanceOff    `cmd:"" help:"Open the API again."`
	Status maintenanceStatus `cmd:"" help:"Print whether the API is closed."`
}

type (
	maintenanceOn     struct{}
	maintenanceOff    struct{}
	maintenanceStatus struct{}
)

// maintenanceView is the output of the maintenance commands. Since is in UTC, because maintenance
// concerns all domains.
type maintenanceView struct {
	State string `json:"state"`
	Since string `json:"since,omitempty"`
}

// Run closes the API. When it is already closed, nothing changes.
func (maintenanceOn) Run(c *console, m *maintenanceCommand) error {
	return m.change(c, "begin maintenance", func(tx *store.Tx) { tx.CloseForMaintenance(time.Now()) })
}

// Run opens the API again. When it is already open, nothing changes.
func (maintenanceOff) Run(c *console, m *maintenanceCommand) error {
	return m.change(c, "end maintenance", (*store.Tx).EndMaintenance)
}

// Run prints the state.
func (maintenanceStatus) Run(c *console, m *maintenanceCommand) error {
	return m.do(c, nil, func(db *store.DB) (any, error) { return maintenanceState(c, db) })
}

// change closes or opens the API, and records this in the audit log of the deployment. It does
// nothing when the API is already closed or open.
func (m *maintenanceCommand) change(c *console, name string, change func(*store.Tx)) error {
	return m.do(c, nil, func(db *store.DB) (any, error) {
		err := db.Write(c.ctx, func(tx *store.Tx) error {
			change(tx)
			return tx.Audit(act(0, name, ""))
		})
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return nil, fmt.Errorf("change the maintenance: %w", err)
		}
		return maintenanceState(c, db)
	})
}

func maintenanceState(c *console, db *store.DB) (any, error) {
	since, err := db.Maintenance(c.ctx)
	if err != nil {
		return nil, fmt.Errorf("read the maintenance: %w", err)
	}
	if since == nil {
		return maintenanceView{State: "off"}, nil
	}
	return maintenanceView{State: "on", Since: passerelle.FormatDateTime(*since, time.UTC)}, nil
}

package wire

import (
	"encoding/json"

	"passerelle"
)

// Connection is a user's connection to an institution. The members after NextTry are expansions,
// which are absent unless the client requests them.
type Connection struct {
	ID            int64                       `json:"id"`
	IDUser        int64                       `json:"id_user"`
	IDConnector   *int64                      `json:"id_connector" doc:"deprecated, see connector_uuid"`
	IDBank        *int64                      `json:"id_bank" doc:"deprecated, see connector_uuid"`
	IDProvider    *int64                      `json:"id_provider" doc:"deprecated, see connector_uuid; set for a provider of documents"`
	ConnectorUUID string                      `json:"connector_uuid"`
	State         *passerelle.ConnectionState `json:"state"`
	Error         *passerelle.ConnectionState `json:"error" doc:"deprecated, same as state"`
	ErrorMessage  *string                     `json:"error_message" doc:"message from the institution"`
	Fields        json.RawMessage             `json:"fields,omitempty" doc:"fields to fill in, when there are any"`
	Created       string                      `json:"created"`
	LastUpdate    *string                     `json:"last_update"`
	LastPush      *string                     `json:"last_push"`
	Expire        *string                     `json:"expire" doc:"when the connection is removed if it is not established by then, or when its consent ends"`
	Active        bool                        `json:"active" doc:"whether the connection is synchronised in the background"`
	NextTry       *string                     `json:"next_try"`

	Connector        *Connector          `json:"connector,omitempty" expand:"true"`
	Bank             *Connector          `json:"bank,omitempty" expand:"true" doc:"deprecated, see connector"`
	Accounts         *[]BankAccount      `json:"accounts,omitempty" expand:"true"`
	AllAccounts      *[]BankAccount      `json:"all_accounts,omitempty" expand:"true"`
	Subscriptions    *[]Subscription     `json:"subscriptions,omitempty" expand:"true"`
	AllSubscriptions *[]Subscription     `json:"all_subscriptions,omitempty" expand:"true"`
	Sources          *[]ConnectionSource `json:"sources,omitempty" expand:"true"`
}

// ConnectionSource is one access channel of a connection.
type ConnectionSource struct {
	ID                int64                       `json:"id"`
	IDConnection      int64                       `json:"id_connection"`
	IDConnectorSource int64                       `json:"id_connector_source"`
	Name              string                      `json:"name"`
	State             *passerelle.ConnectionState `json:"state"`
	Created           string                      `json:"created"`
	LastUpdate        *string                     `json:"last_update"`
	Disabled          *string                     `json:"disabled"`
	AccessExpire      *string                     `json:"access_expire" doc:"when the consent at the institution ends"`
	Expire            *string                     `json:"expire"`
	NextTry           *string                     `json:"next_try"`
}

// ConnectionLog is the record of one sync.
type ConnectionLog struct {
	ID           int64                       `json:"id"`
	IDUser       int64                       `json:"id_user"`
	IDConnection int64                       `json:"id_connection"`
	IDConnector  *int64                      `json:"id_connector"`
	IDSource     *int64                      `json:"id_source"`
	Timestamp    string                      `json:"timestamp" doc:"when the synchronisation ended"`
	Start        string                      `json:"start"`
	NextTry      *string                     `json:"next_try"`
	Error        *passerelle.ConnectionState `json:"error" doc:"state in which the synchronisation ended; null when everything was read"`
	ErrorMessage *string                     `json:"error_message"`
	Accounts     int64                       `json:"nb_accounts"`
	PSURequested bool                        `json:"psu_requested" doc:"whether the end user was present"`
}

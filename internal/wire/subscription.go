package wire

import (
	"encoding/json"
	"time"

	"passerelle"
)

// Subscription is a subscription of a user.
type Subscription struct {
	ID           int64                       `json:"id"`
	IDConnection int64                       `json:"id_connection"`
	IDUser       int64                       `json:"id_user"`
	IDSource     *int64                      `json:"id_source"`
	Number       *string                     `json:"number"`
	Label        string                      `json:"label"`
	Subscriber   *string                     `json:"subscriber"`
	Validity     *string                     `json:"validity"`
	RenewDate    *string                     `json:"renewdate"`
	LastUpdate   *string                     `json:"last_update"`
	Deleted      *string                     `json:"deleted"`
	Disabled     *string                     `json:"disabled"`
	Error        *passerelle.ConnectionState `json:"error"`
	Connection   *Connection                 `json:"connection,omitempty" expand:"true" doc:"with expand=connection"`
}

// NewSubscription renders a subscription with times in the zone.
func NewSubscription(s passerelle.Subscription, zone *time.Location) Subscription {
	return Subscription{
		ID: int64(s.ID), IDConnection: int64(s.Connection), IDUser: int64(s.User), IDSource: optional(int64(s.Source)), Number: optional(s.Number), Label: s.Label,
		Subscriber: optional(s.Subscriber), Validity: date(s.Validity), RenewDate: date(s.Renewing), LastUpdate: Moment(s.LastUpdate, zone),
		Deleted: Moment(s.Deleted, zone), Disabled: Moment(s.Disabled, zone), Error: optional(s.Error),
	}
}

// Document is a document of a user.
type Document struct {
	ID               int64        `json:"id"`
	IDUser           int64        `json:"id_user"`
	IDSubscription   *int64       `json:"id_subscription"`
	IDType           *int64       `json:"id_type"`
	IDCategory       *int64       `json:"id_category"`
	IDFile           *int64       `json:"id_file"`
	IDThumbnail      *int64       `json:"id_thumbnail" doc:"always null: thumbnails are not stored, see thumb_url"`
	Name             string       `json:"name"`
	Number           *string      `json:"number"`
	Issuer           *string      `json:"issuer"`
	Date             *string      `json:"date"`
	Timestamp        string       `json:"timestamp"`
	DueDate          *string      `json:"duedate"`
	TotalAmount      *json.Number `json:"total_amount"`
	UntaxedAmount    *json.Number `json:"untaxed_amount"`
	VAT              *json.Number `json:"vat"`
	Currency         *string      `json:"currency"`
	Income           bool         `json:"income"`
	ReadOnly         bool         `json:"readonly"`
	HasFileOnWebsite bool         `json:"has_file_on_website"`
	URL              *string      `json:"url"`
	ThumbURL         *string      `json:"thumb_url" doc:"address of a PNG that shows a sheet with the kind of the file on it"`
	LastUpdate       *string      `json:"last_update"`

	Type *DocumentType `json:"type,omitempty" expand:"true" doc:"with expand=type"`
}

// DocumentType describes a type of documents.
type DocumentType struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Attachable bool   `json:"attacheable" doc:"whether documents of this type can be attached to a transaction"`
}

// NewDocument renders a document. The address of the document's file, if any, is below base.
func NewDocument(d passerelle.Document, idType int64, base string, zone *time.Location) Document {
	found := passerelle.FormatDateTime(d.Found, zone)
	if !d.Date.IsZero() {
		found = passerelle.FormatDateTime(d.Date.In(zone), zone)
	}
	out := Document{
		ID: int64(d.ID), IDUser: int64(d.User), IDSubscription: optional(int64(d.Subscription)), IDType: optional(idType), IDCategory: optional(d.Category), IDFile: optional(int64(d.File)),
		Name: d.Name, Number: optional(d.Number), Issuer: optional(d.Issuer), Date: date(d.Date), Timestamp: found, DueDate: date(d.Due),
		TotalAmount: Amount(d.Total), UntaxedAmount: Amount(d.Untaxed), VAT: Amount(d.VAT), Currency: optional(string(d.Currency)), Income: d.Income,
		ReadOnly: d.ReadOnly, HasFileOnWebsite: d.HasFile, LastUpdate: optional(passerelle.FormatDateTime(d.LastUpdate, zone)),
	}
	if d.File != 0 {
		url, thumbnail := base+"/file", base+"/thumbnail"
		out.URL, out.ThumbURL = &url, &thumbnail
	}
	return out
}

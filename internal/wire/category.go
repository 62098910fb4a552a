package wire

import (
	"encoding/json"

	"passerelle"
)

// CategoryDetails describes a category of transactions.
type CategoryDetails struct {
	ID                     int64   `json:"id"`
	IDParentCategory       *int64  `json:"id_parent_category"`
	IDParentCategoryInMenu *int64  `json:"id_parent_category_in_menu"`
	Code                   string  `json:"code"`
	ParentCode             *string `json:"parent_code"`
	Name                   string  `json:"name"`
	NameDisplayed          string  `json:"name_displayed"`
	Income                 bool    `json:"income" doc:"whether the category is for incoming money"`
	Color                  *string `json:"color" doc:"six hexadecimal digits; null for the parent's colour"`
	Refundable             bool    `json:"refundable"`
	IDUser                 *int64  `json:"id_user" doc:"the end user who created it; null for categories common to all"`
	IDLogo                 *int64  `json:"id_logo" doc:"always null"`
}

// NewCategoryDetails renders a category.
func NewCategoryDetails(c passerelle.Category) CategoryDetails {
	named := categories([]string{c.Code})[0]
	return CategoryDetails{
		ID: int64(c.ID), IDParentCategory: optional(int64(c.Parent)), IDParentCategoryInMenu: optional(int64(c.Parent)), Code: named.Code, ParentCode: named.ParentCode,
		Name: c.Name, NameDisplayed: c.Name, Income: c.Income, Color: optional(c.Color), Refundable: c.Refundable, IDUser: optional(int64(c.User)),
	}
}

// Categorized describes a transaction that the service categorizes and does not store.
type Categorized struct {
	Wording    string                     `json:"wording"`
	Value      *json.Number               `json:"value"`
	Type       passerelle.TransactionType `json:"type"`
	Categories []Category                 `json:"categories"`
	IDCategory int64                      `json:"id_category"`
}

// NewCategorized renders the category of a transaction with this label and type.
func NewCategorized(label string, kind passerelle.TransactionType) Categorized {
	codes := passerelle.Categorize(label, kind)
	return Categorized{Wording: label, Type: kind, Categories: categories(codes), IDCategory: int64(passerelle.CategoryNumber(codes))}
}

// TransactionInformation is a note of a client about a transaction.
type TransactionInformation struct {
	ID            int64  `json:"id"`
	IDTransaction int64  `json:"id_transaction"`
	Key           string `json:"key"`
	Value         string `json:"value"`
}

package banking

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"passerelle"
	"passerelle/internal/bankstore"
	"passerelle/internal/httpapi"
	"passerelle/internal/wire"
)

func (s *Service) categoryRoutes() []httpapi.Route {
	const own, one = "/users/{userId}/categories", "/users/{userId}/categories/{categoryId}"
	return []httpapi.Route{
		{
			Method: http.MethodGet, Pattern: "/categories", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.listCategories),
			Summary: "List the categories of transactions", Doc: "Lists the categories that are common to all end users. Transactions that could not be categorized have category 9998.",
		},
		{
			Method: http.MethodGet, Pattern: "/categories/{categoryId}", Needs: httpapi.Public, Endpoint: httpapi.Handle(s.commonCategory),
			Summary: "Read a category of transactions", Doc: "Returns a category that is common to all end users.",
		},
		{
			Method: http.MethodGet, Pattern: own, Aliases: []string{own + "/full"}, Needs: ofUser, Endpoint: httpapi.Handle(s.listUserCategories),
			Summary: "List the categories of a user", Doc: "Lists the categories that are common to all end users, then those that this end user created.",
		},
		{
			Method: http.MethodPost, Pattern: own, Aliases: []string{own + "/full"}, Needs: ofUser, Creates: "category", Resumes: true, Endpoint: httpapi.Handle(s.createCategory), Errors: []string{"conflict"},
			Summary: "Create a category", Doc: "Creates a category for this end user. An end user can create at most 100.",
		},
		{
			Method: http.MethodGet, Pattern: one, Aliases: []string{own + "/full/{categoryId}"}, Needs: ofUser, Endpoint: httpapi.Handle(s.oneCategory), Summary: "Read a category",
		},
		{
			Method: httpapi.Update, Pattern: one, Aliases: []string{own + "/full/{categoryId}"}, Needs: ofUser, Endpoint: httpapi.Handle(s.changeCategory),
			Summary: "Change a category of the user", Doc: "Omitted members keep their values. Categories that are common to all end users cannot be changed.",
		},
		{
			Method: http.MethodDelete, Pattern: one, Aliases: []string{own + "/full/{categoryId}"}, Needs: ofUser, Endpoint: httpapi.Handle(s.deleteCategory),
			Summary: "Delete a category of the user", Doc: "Deletes the category. Transactions keep it until they get another one.",
		},
		{
			Method: http.MethodPost, Pattern: "/categorize", Needs: httpapi.AnyToken, Endpoint: httpapi.Handle(categorize),
			Summary: "Categorize transactions", Doc: "Categorizes any transactions without storing them. The body may also be an array. Transactions that have no label or no known type are returned in failed.",
		},
	}
}

type listCategoriesOutput struct {
	Categories []wire.CategoryDetails `json:"categories"`
	Total      int                    `json:"total"`
}

func listedCategories(all []passerelle.Category) listCategoriesOutput {
	out := listCategoriesOutput{Categories: make([]wire.CategoryDetails, len(all)), Total: len(all)}
	for i, c := range all {
		out.Categories[i] = wire.NewCategoryDetails(c)
	}
	return out
}

func (s *Service) listCategories(context.Context, *httpapi.Caller, httpapi.Nothing) (listCategoriesOutput, error) {
	return listedCategories(passerelle.Categories()), nil
}

type commonCategoryInput struct {
	ID passerelle.CategoryID `path:"categoryId"`
}

func (s *Service) commonCategory(_ context.Context, _ *httpapi.Caller, in commonCategoryInput) (wire.CategoryDetails, error) {
	found, known := passerelle.CategoryByID(in.ID)
	if !known {
		return wire.CategoryDetails{}, passerelle.Missing()
	}
	return wire.NewCategoryDetails(found), nil
}

func (s *Service) listUserCategories(ctx context.Context, c *httpapi.Caller, in oneUserInput) (listCategoriesOutput, error) {
	user, err := in.theirs(c)
	if err != nil {
		return listCategoriesOutput{}, err
	}
	own, err := bankstore.From(s.DB).OwnCategories(ctx, c.Domain.ID, user, nil)
	if err != nil {
		return listCategoriesOutput{}, fmt.Errorf("list the categories of user %d: %w", user, err)
	}
	return listedCategories(append(passerelle.Categories(), own...)), nil
}

type categoryFields struct {
	Parent     *passerelle.CategoryID `body:"id_parent_category" doc:"parent, one of the categories common to all end users; 0 for none"`
	Income     *bool                  `body:"income"`
	Refundable *bool                  `body:"refundable"`
	Color      *hexColor              `body:"color" max:"6" doc:"six hexadecimal digits; empty for the parent's colour" example:"2E7D32"`
}

// onto returns c with the fields of the request applied.
func (in categoryFields) onto(c passerelle.Category) passerelle.Category {
	if in.Parent != nil {
		c.Parent = *in.Parent
	}
	if in.Income != nil {
		c.Income = *in.Income
	}
	if in.Refundable != nil {
		c.Refundable = *in.Refundable
	}
	if in.Color != nil {
		c.Color = string(*in.Color)
	}
	return c
}

// hexColor is a colour as six hexadecimal digits, or empty.
type hexColor string

// UnmarshalText accepts digits in both cases, and keeps them as they are.
func (c *hexColor) UnmarshalText(text []byte) error {
	if parts, err := hex.DecodeString(string(text)); err != nil || len(text) > 0 && len(parts) != 3 {
		return errors.New("must be six hexadecimal digits, such as 2E7D32")
	}
	*c = hexColor(text)
	return nil
}

type createCategoryInput struct {
	oneUserInput
	Name string `body:"name,required" max:"100"`
	categoryFields
}

func (s *Service) createCategory(ctx context.Context, c *httpapi.Caller, in createCategoryInput) (wire.CategoryDetails, error) {
	user, err := in.theirs(c)
	if err != nil {
		return wire.CategoryDetails{}, err
	}
	if c.Made != 0 {
		made, err := s.Aggregation.Category(ctx, c.Domain, user, bankstore.CategoryNumbered(c.Made))
		return wire.NewCategoryDetails(made), err
	}
	draft := in.onto(passerelle.Category{User: user, Name: in.Name})
	if in.Name == "" {
		return wire.CategoryDetails{}, passerelle.InvalidField("name", "must not be empty")
	}
	made, err := s.Aggregation.SaveCategory(ctx, c.Domain, passerelle.Category{}, draft)
	return wire.NewCategoryDetails(made), err
}

type whichCategory struct {
	oneUserInput
	Category passerelle.CategoryID `path:"categoryId"`
}

func (s *Service) category(ctx context.Context, c *httpapi.Caller, in whichCategory) (passerelle.Category, error) {
	user, err := in.theirs(c)
	if err != nil {
		return passerelle.Category{}, err
	}
	return s.Aggregation.Category(ctx, c.Domain, user, in.Category)
}

func (s *Service) oneCategory(ctx context.Context, c *httpapi.Caller, in whichCategory) (wire.CategoryDetails, error) {
	found, err := s.category(ctx, c, in)
	if err != nil {
		return wire.CategoryDetails{}, err
	}
	return wire.NewCategoryDetails(found), nil
}

type changeCategoryInput struct {
	whichCategory
	Name *string `body:"name" max:"100"`
	categoryFields
}

func (s *Service) changeCategory(ctx context.Context, c *httpapi.Caller, in changeCategoryInput) (wire.CategoryDetails, error) {
	found, err := s.category(ctx, c, in.whichCategory)
	if err == nil && found.User == 0 {
		err = passerelle.Missing()
	}
	if err != nil {
		return wire.CategoryDetails{}, err
	}
	former := found
	if in.Name != nil {
		found.Name = *in.Name
	}
	if found.Name == "" {
		return wire.CategoryDetails{}, passerelle.InvalidField("name", "must not be empty")
	}
	saved, err := s.Aggregation.SaveCategory(ctx, c.Domain, former, in.onto(found))
	return wire.NewCategoryDetails(saved), err
}

func (s *Service) deleteCategory(ctx context.Context, c *httpapi.Caller, in whichCategory) (httpapi.Nothing, error) {
	user, err := in.theirs(c)
	if err != nil {
		return httpapi.Nothing{}, err
	}
	return httpapi.Nothing{}, s.Aggregation.DeleteCategory(ctx, c.Domain, user, in.Category)
}

// maxCategorized is the largest number of transactions that one call may categorize.
const maxCategorized = 1000

type categorizeInput struct {
	Transactions []uncategorized `body:"transactions,whole"`
}

type uncategorized struct {
	Wording string         `body:"wording" max:"2048"`
	Value   httpapi.Number `body:"value"`
	Type    string         `body:"type" max:"50" example:"card"`
}

type categorizeOutput struct {
	Transactions []wire.Categorized `json:"transactions"`
	Failed       []wire.Categorized `json:"failed"`
	Total        int                `json:"total"`
}

func categorize(_ context.Context, _ *httpapi.Caller, in categorizeInput) (categorizeOutput, error) {
	out := categorizeOutput{Transactions: []wire.Categorized{}, Failed: []wire.Categorized{}, Total: len(in.Transactions)}
	if out.Total < 1 || out.Total > maxCategorized {
		return out, passerelle.InvalidField("transactions", "must have from 1 to %d items", maxCategorized)
	}
	for _, t := range in.Transactions {
		kind := passerelle.TransactionType(t.Type)
		one := wire.NewCategorized(t.Wording, kind)
		if t.Value != "" {
			value := json.Number(t.Value)
			one.Value = &value
		}
		if t.Wording == "" || !kind.Known() {
			out.Failed = append(out.Failed, one)
			continue
		}
		out.Transactions = append(out.Transactions, one)
	}
	return out, nil
}

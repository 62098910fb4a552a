package reference

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Chapter has the calls for one kind of object. Name is the first word of their paths.
type Chapter struct {
	Name  string
	Calls []Call
}

// Call is an operation with all its paths and methods. ID is the anchor of the call on the page.
type Call struct {
	ID, Path   string
	Methods    []string
	Also       []string
	Summary    string
	About      []paragraph
	Parameters []Field
	Bodies     []Body
	Answers    []Answer
	// Kinds lists the kinds of token that the call accepts. It is empty when the call needs no
	// token. The token must have at least one of Scopes.
	Kinds, Scopes []string
	// Body is a sample of a request's body. Sample is a recorded response, and Status is its
	// status.
	Body, Sample string
	Status       int
}

// Answer is a possible status of a response, with its body and its error codes.
type Answer struct {
	Status string
	Codes  []Code
	Value  []Word
}

// Code is an error code and its meaning.
type Code struct{ Name, Meaning string }

// Body is one of the possible forms of a body. For an object, Body has the object's fields.
type Body struct {
	Value  []Word
	Fields []Field
}

// same has the texts that the operations of one call share. The code declares an operation once for
// all its paths, so equal texts mean the same operation.
type same struct{ method, summary, about string }

// chapters returns the operations, grouped into chapters by name.
func (d document) chapters() []Chapter {
	samples := mustReadSamples()
	all := d.withoutSamples()
	for i := range all {
		for j := range all[i].Calls {
			d.addSample(samples, &all[i].Calls[j])
		}
	}
	return all
}

// addSample adds a request and its response to a call. Both come from a recorded request that
// succeeded. Without a recorded JSON body, addSample makes the request's body from its schema.
func (d document) addSample(samples map[string]sample, c *Call) {
	one, is := sampleOf(samples, *c)
	if is {
		c.Status, c.Sample = one.Status, indented(string(one.Answer))
	}
	body := d.Paths[c.Path][strings.ToLower(c.Methods[0])].RequestBody.Content["application/json"].Schema
	switch {
	case one.Kind == "application/json":
		c.Body = indented(one.Body)
	case len(c.Bodies) > 0:
		c.Body = indented(d.sampleBody(body))
	}
}

// withoutSamples returns the chapters that the document describes, without samples.
func (d document) withoutSamples() []Chapter {
	groups := map[same][]string{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			key := same{method, op.Summary, op.Description}
			groups[key] = append(groups[key], path)
		}
	}
	var calls []Call
	for key, paths := range groups {
		slices.SortFunc(paths, byLength)
		calls = append(calls, d.call(key.method, paths))
	}
	slices.SortFunc(calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Summary, b.Summary), cmp.Compare(order(a.Methods[0]), order(b.Methods[0])))
	})
	return collect(joinTwins(calls))
}

// byLength compares paths. The shortest path comes first, because the page shows it.
func byLength(a, b string) int {
	return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
}

// order returns the rank by which the page sorts methods.
func order(method string) int {
	return slices.Index([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, method)
}

// joinTwins joins neighbouring calls that differ only in their method.
func joinTwins(calls []Call) []Call {
	var joined []Call
	for _, call := range calls {
		if last := len(joined) - 1; last >= 0 && joined[last].Summary == call.Summary && slices.Equal(joined[last].Also, call.Also) && joined[last].Path == call.Path {
			joined[last].Methods = append(joined[last].Methods, call.Methods...)
			continue
		}
		joined = append(joined, call)
	}
	return joined
}

func collect(calls []Call) []Chapter {
	byName := map[string][]Call{}
	for _, call := range calls {
		name, _, _ := strings.Cut(strings.TrimPrefix(call.Path, "/"), "/")
		byName[name] = append(byName[name], call)
	}
	var chapters []Chapter
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		slices.SortStableFunc(byName[name], func(a, b Call) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(order(a.Methods[0]), order(b.Methods[0])))
		})
		chapters = append(chapters, Chapter{Name: name, Calls: byName[name]})
	}
	return chapters
}

func (d document) call(method string, paths []string) Call {
	op := d.Paths[paths[0]][method]
	c := Call{
		ID: method + strings.NewReplacer("/", "-", "{", "", "}", "").Replace(paths[0]), Path: paths[0], Also: paths[1:],
		Methods: []string{strings.ToUpper(method)}, Summary: op.Summary, About: paragraphs(op.Description),
	}
	for _, p := range op.Parameters {
		p.Schema.Description = p.Description
		c.Parameters = append(c.Parameters, field(p.Name, p.In, p.Required, p.Schema))
	}
	c.Bodies = d.bodies(op.RequestBody.Content["application/json"].Schema)
	c.Kinds, c.Scopes, c.About = credentials(op)
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		c.Answers = append(c.Answers, answer(status, op.Responses[status]))
	}
	return c
}

const (
	// needsToken is the beginning of the paragraph that says which tokens a call accepts. needsNone
	// is the text of this paragraph for calls without a token.
	needsToken = "Kinds of token: "
	needsNone  = "No token needed."
)

// credentials returns an operation's kinds of token and scopes, and the other paragraphs of its
// description.
func credentials(op operation) ([]string, []string, []paragraph) {
	var (
		kinds, scopes []string
		about         []paragraph
	)
	for _, one := range op.Security {
		scopes = append(scopes, one["bearer"]...)
	}
	for _, p := range paragraphs(op.Description) {
		list, is := strings.CutPrefix(p.Text, needsToken)
		if is {
			list, _, _ = strings.Cut(list, ".")
			kinds = strings.Split(list, ", ")
		} else if p.Text != needsNone {
			about = append(about, p)
		}
	}
	return kinds, scopes, about
}

// bodies returns the possible forms of a request's body.
func (d document) bodies(s schema) []Body {
	if len(s.AnyOf) > 0 {
		var all []Body
		for _, one := range s.AnyOf {
			all = append(all, d.bodies(one)...)
		}
		return all
	}
	value := words(s)
	if len(value) == 0 {
		return nil
	}
	return []Body{{Value: value, Fields: fields(d.Components.Schemas[s.name()])}}
}

// answer describes an error by its codes, and all other responses by their bodies.
func answer(status string, c content) Answer {
	if status >= "400" {
		a := Answer{Status: status}
		for code := range strings.SplitSeq(c.Description, ", ") {
			a.Codes = append(a.Codes, Code{code, errorTexts[code]})
		}
		return a
	}
	a := Answer{Status: status}
	for _, media := range c.Content {
		a.Value = words(media.Schema)
	}
	if len(a.Value) == 0 {
		a.Value = []Word{{Text: "nothing"}}
	}
	return a
}

package httpapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"passerelle"
)

// The OpenAPI document comes from the routes and from the compiled plans that parse requests. The
// parameters and bodies in the document therefore agree with the service.
//
// We tried other generators with a call that returns a list, with a limit, a filter and an
// expansion. huma v2 also generates the document and the parser from types. But it silently accepts
// repeated parameters. It responds to invalid requests with 422, and every body contains a link to
// its schema. With huma, this package would still need its own code for strictness, pages,
// expansions and errors that name a field. swaggest/openapi-go generates a document from types but
// parses no requests, so the code would have each limit twice. kin-openapi generates schemas from
// Go types, without the limits in the plans. The tests of internal/api use kin-openapi to validate
// this document. ogen generates a server from a document that people write.

type openAPI struct {
	OpenAPI    string                           `json:"openapi"`
	Info       info                             `json:"info"`
	Servers    []server                         `json:"servers"`
	Paths      map[string]map[string]*operation `json:"paths"`
	Components components                       `json:"components"`
}

type info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

type server struct {
	URL string `json:"url"`
}

type components struct {
	Schemas         map[string]*schema        `json:"schemas"`
	SecuritySchemes map[string]securityScheme `json:"securitySchemes"`
}

type securityScheme struct {
	Type        string `json:"type"`
	Scheme      string `json:"scheme"`
	Description string `json:"description"`
}

type operation struct {
	OperationID string                `json:"operationId"`
	Tags        []string              `json:"tags"`
	Summary     string                `json:"summary"`
	Description string                `json:"description,omitempty"`
	Security    []map[string][]string `json:"security"`
	Parameters  []parameterObject     `json:"parameters,omitempty"`
	RequestBody *content              `json:"requestBody,omitempty"`
	Responses   map[string]content    `json:"responses"`
}

type parameterObject struct {
	Name            string  `json:"name"`
	In              string  `json:"in"`
	Description     string  `json:"description,omitempty"`
	Required        bool    `json:"required,omitempty"`
	AllowEmptyValue bool    `json:"allowEmptyValue,omitempty"`
	Schema          *schema `json:"schema"`
}

type content struct {
	Description string               `json:"description,omitempty"`
	Content     map[string]mediaType `json:"content,omitempty"`
}

type mediaType struct {
	Schema *schema `json:"schema"`
}

const conventions = `Conventions of all calls:

- Scalar fields of a request body may also be sent as query parameters, with any content type. A body without nested members may be sent as a form.
- Unknown query parameters, body keys and names in expand are ignored. With the header "Prefer: handling=strict", they are refused with an error that names one of them.
- A flag without a value in the query, such as ?all, is true. A boolean of a body without a value is refused in a form and after an equals sign, such as ?confirm=.
- With the query flag sign_response, a successful answer is a compact JWS (application/jose), in domains that have this enabled. Its header contains the address of the key as key_url, see /sign-keys. Its payload contains request_url, response_timestamp and the answer as response_payload. Errors and files are not signed.
- A domain may limit the requests per minute for each token and each address. Answers then contain RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset (in seconds). Requests over the limit fail with 429, and Retry-After says how many seconds to wait.
- HEAD works like GET. A trailing slash is allowed.
- Amounts are returned as JSON numbers with exactly the stored digits. They are accepted as numbers or as decimal strings.
- Error bodies have exactly the keys of the schema ErrorBody. Programs should decide on code.`

// describe returns the OpenAPI document of the endpoints.
func describe(endpoints []*endpoint) RawJSON {
	s := &schemas{named: map[string]*schema{}, types: map[string]reflect.Type{}}
	s.output(reflect.TypeFor[errorBody]())
	paths := map[string]map[string]*operation{}
	for _, e := range endpoints {
		for _, pattern := range e.route.patterns() {
			e.describe(s, pattern, paths)
		}
	}
	document, err := encode(openAPI{
		OpenAPI: "3.1.0",
		Info:    info{Title: "Passerelle", Version: "2.0", Description: conventions},
		Servers: []server{{URL: version}},
		Paths:   paths,
		Components: components{Schemas: s.named, SecuritySchemes: map[string]securityScheme{
			"bearer": {Type: "http", Scheme: "bearer", Description: "Authorization: Bearer <token>"},
		}},
	})
	if err != nil {
		panic(fmt.Sprintf("httpapi: render the OpenAPI document: %s", err))
	}
	return document
}

func (e *endpoint) describe(s *schemas, pattern string, paths map[string]map[string]*operation) {
	if paths[pattern] == nil {
		paths[pattern] = map[string]*operation{}
	}
	for _, method := range methodsOf[e.route.Method] {
		if method != http.MethodHead {
			paths[pattern][strings.ToLower(method)] = e.operation(s, pattern, method)
		}
	}
}

func (e *endpoint) operation(s *schemas, pattern, method string) *operation {
	op := &operation{
		OperationID: operationID(method, pattern),
		Tags:        []string{segments(pattern)[0]},
		Summary:     e.route.Summary,
		Description: strings.TrimSpace(e.route.Doc + "\n\n" + e.route.Needs.String()),
		Security:    e.route.Needs.security(),
		Parameters:  e.parameters(s, pattern),
		Responses:   e.responses(s),
	}
	if hasBody(method) && e.plan.takesBody() {
		op.RequestBody = e.body(s)
	}
	return op
}

// operationID returns an id made from the method and the path, such as getPaymentsPaymentId.
func operationID(method, pattern string) string {
	id := strings.ToLower(method)
	split := func(r rune) bool { return strings.ContainsRune("/{}_-.", r) }
	for _, word := range strings.FieldsFunc(pattern, split) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

// String returns the words that describe who may call.
func (n Needs) String() string {
	if n.Public && n.Guarded == "" {
		return "No token needed."
	}
	var words []string
	if n.Public {
		words = append(words, "No token needed, except with "+n.Guarded+".")
	}
	if len(n.Kinds) > 0 {
		words = append(words, "Kinds of token: "+strings.Join(n.kinds(), ", ")+".")
	}
	if len(n.AnyScope) > 0 {
		words = append(words, "One of the scopes: "+strings.Join(n.scopes(), ", ")+".")
	}
	return strings.Join(words, " ")
}

func (n Needs) scopes() []string {
	scopes := make([]string, len(n.AnyScope))
	for i, scope := range n.AnyScope {
		scopes[i] = string(scope)
	}
	return scopes
}

// security lists one alternative for each scope, because a token needs only one of them. The first
// alternative of a public call with a guarded parameter is empty.
func (n Needs) security() []map[string][]string {
	if n.Public && n.Guarded == "" {
		return []map[string][]string{}
	}
	if len(n.AnyScope) == 0 {
		return []map[string][]string{{"bearer": {}}}
	}
	var any []map[string][]string
	if n.Public {
		any = append(any, map[string][]string{})
	}
	for _, scope := range n.scopes() {
		any = append(any, map[string][]string{"bearer": {scope}})
	}
	return any
}

var idempotencyKey = parameterObject{
	Name: "Idempotency-Key", In: "header", Schema: &schema{Type: "string", MaxLength: ptr(maxKey)},
	Description: "makes this request safe to repeat: for 24 hours, repetitions get the first response. While the first request is in progress, and up to 20 seconds after it was interrupted, repetitions fail with 409 and Retry-After",
}

func ptr(n int64) *int64 { return &n }

func (e *endpoint) parameters(s *schemas, pattern string) []parameterObject {
	var out []parameterObject
	for _, name := range parameters(pattern) {
		f := e.plan.path.find(name)
		out = append(out, parameterObject{Name: name, In: "path", Required: true, Description: f.rules.doc, Schema: pathSchema(s, f)})
	}
	out = append(out, described(s, "query", &e.plan.query)...)
	out = append(out, described(s, "header", &e.plan.header)...)
	if e.route.takesKey() {
		out = append(out, idempotencyKey)
	}
	return out
}

func described(s *schemas, source string, set *fields) []parameterObject {
	out := make([]parameterObject, len(set.list))
	for i := range set.list {
		f := &set.list[i]
		value := s.input(f)
		out[i] = parameterObject{
			Name: f.name, In: source, Required: f.required, Description: value.Description,
			AllowEmptyValue: source == "query" && value.Type == "boolean", Schema: value,
		}
		if f.name == anyKey {
			out[i].Name = "values" // an object in a query has one parameter for each member
		}
		value.Description = ""
	}
	return out
}

func pathSchema(s *schemas, f *field) *schema {
	value := s.input(f)
	if value.Type != "integer" {
		return value
	}
	value.Minimum = ptr(1)
	if f.typ == reflect.TypeFor[passerelle.UserID]() {
		return &schema{AnyOf: []*schema{value, {Const: "me"}}}
	}
	return value
}

func (e *endpoint) body(s *schemas) *content {
	whole, flat := s.bodies(e)
	body := &content{Content: map[string]mediaType{"application/json": {Schema: whole}}}
	if flat == nil || len(e.plan.variants) > 0 && flat.AnyOf == nil {
		return body
	}
	for format := range formats {
		if format != "application/json" {
			body.Content[format] = mediaType{Schema: flat}
		}
	}
	if f := e.plan.rawField(); f != nil {
		for _, media := range f.rules.raw {
			body.Content[media] = mediaType{Schema: &schema{Type: "string", Format: "binary"}}
		}
	}
	return body
}

// bodies returns the schema of the JSON body and the schema of a form.
func (s *schemas) bodies(e *endpoint) (*schema, *schema) {
	var (
		whole *schema
		flat  *schema
	)
	if field := e.plan.body.find(anyKey); field != nil && len(e.plan.body.list) == 1 {
		whole = s.input(field)
		return whole, whole
	}
	if len(e.plan.variants) == 0 {
		whole = s.component(e.route.Endpoint.in, func() *schema { return s.inputs(e.plan.body) })
		if e.plan.body.flat() {
			flat = whole
		}
		return whole, flat
	}
	whole, flat = &schema{}, &schema{}
	for _, v := range e.plan.variants {
		one := s.variant(v)
		whole.AnyOf = append(whole.AnyOf, one)
		if v.fields.flat() {
			flat.AnyOf = append(flat.AnyOf, one)
		}
	}
	return whole, flat
}

func (e *endpoint) responses(s *schemas) map[string]content {
	out := map[string]content{}
	for status, words := range e.failures() {
		out[strconv.Itoa(status)] = content{
			Description: strings.Join(words, ", "),
			Content:     map[string]mediaType{"application/json": {Schema: s.output(reflect.TypeFor[errorBody]())}},
		}
	}
	if e.route.Redirects {
		out[strconv.Itoa(http.StatusFound)] = content{Description: "the next page"}
		return out
	}
	t := e.route.Endpoint.out
	success := content{Description: "success"}
	switch t {
	case reflect.TypeFor[Nothing]():
	case reflect.TypeFor[Stream]():
		success.Content = map[string]mediaType{"*/*": {Schema: &schema{Type: "string", Format: "binary"}}}
	case reflect.TypeFor[Content]():
		success.Content = map[string]mediaType{"*/*": {Schema: &schema{Type: "string", Format: "binary"}}}
		out[strconv.Itoa(http.StatusPartialContent)] = success
		out[strconv.Itoa(http.StatusNotModified)] = content{Description: "not modified: the caller's copy is current"}
	default:
		success.Content = map[string]mediaType{"application/json": {Schema: s.output(t)}}
	}
	for _, status := range append(e.route.Statuses, successStatus(reflect.Zero(t).Interface())) {
		out[strconv.Itoa(status)] = success
	}
	return out
}

// failures returns the error codes of an endpoint, by status. Every endpoint has the codes bug,
// maintenance, rateLimited and unavailable. Some codes follow from the endpoint's declaration, and
// the route names the others.
func (e *endpoint) failures() map[int][]string {
	words := append([]string{"bug", "maintenance", "rateLimited", "unavailable"}, e.route.Errors...)
	follow := map[string]bool{
		"invalidValue":     len(e.plan.query.list)+len(e.plan.header.list) > 0 || e.plan.takesBody(),
		"missingParameter": e.plan.takesBody(),
		"invalidToken":     !e.route.Needs.Public || e.route.Needs.Guarded != "",
		"forbidden":        !e.route.Needs.Public || e.route.Needs.Guarded != "",
		"notFound":         len(e.plan.path.list) > 0 || e.route.Needs.Guarded != "",
		"conflict":         e.route.takesKey(),
		"payloadTooLarge":  e.plan.takesBody(),
	}
	for word, follows := range follow {
		if follows {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	byStatus := map[int][]string{}
	for _, word := range words {
		byStatus[codes[word].status] = append(byStatus[codes[word].status], word)
	}
	return byStatus
}

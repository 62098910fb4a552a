package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"

	"passerelle"
)

// formats maps the media types of bodies to their parsers. Clients of this API family send all
// three types. A body without a type counts as JSON.
var formats = map[string]func(ctx context.Context, body []byte, parameters map[string]string) (node, error){
	"application/json":                  func(ctx context.Context, body []byte, _ map[string]string) (node, error) { return parseJSON(ctx, body) },
	"application/x-www-form-urlencoded": parseForm,
	"multipart/form-data":               parseMultipart,
}

// parseBody parses a body into an object, or a JSON array into a list. An empty body of any type is
// an empty object. When a field accepts the media type, the whole body is the value of that field.
func parseBody(ctx context.Context, body []byte, contentType string, whole *field) (node, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return node{shape: object}, nil
	}
	if contentType == "" {
		return parseJSON(ctx, body)
	}
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return node{}, passerelle.InvalidField("Content-Type", "not a media type: %s", err)
	}
	if strings.HasSuffix(media, "+json") {
		media = "application/json"
	}
	if whole != nil && slices.Contains(whole.rules.raw, media) {
		return node{shape: object, nodes: []node{{shape: file, name: whole.name, text: string(body)}}}, nil
	}
	parse := formats[media]
	if parse == nil {
		accepted := sorted(formats)
		if whole != nil {
			accepted = append(accepted, whole.rules.raw...)
		}
		return node{}, passerelle.InvalidField("Content-Type", "must be one of %s", strings.Join(accepted, ", "))
	}
	return parse(ctx, body, parameters)
}

func parseForm(_ context.Context, body []byte, _ map[string]string) (node, error) {
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return node{}, malformed("not a form: %s", err)
	}
	return flat(values)
}

// flat returns an object with the fields of a form.
func flat(values url.Values) (node, error) {
	form := node{shape: object}
	for _, name := range sorted(values) {
		at := path{steps: []step{memberStep(name)}}
		if strings.ContainsAny(name, "[]") {
			return node{}, at.invalid("a form cannot have nested members; send application/json")
		}
		if err := at.checkText(name); err != nil {
			return node{}, err
		}
		field, err := single(name, values[name])
		if err != nil {
			return node{}, err
		}
		field.assigned = true
		form.nodes = append(form.nodes, field)
	}
	return form, nil
}

// maxParts limits the parts of a multipart body.
const maxParts = 1000

func parseMultipart(_ context.Context, body []byte, parameters map[string]string) (node, error) {
	if parameters["boundary"] == "" {
		return node{}, passerelle.InvalidField("Content-Type", "multipart/form-data needs a boundary")
	}
	values := url.Values{}
	var files []node
	reader := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	for count := 0; ; count++ {
		p, err := part(reader)
		switch {
		case errors.Is(err, io.EOF):
			return withFiles(values, files)
		case err != nil:
			return node{}, err
		case count == maxParts:
			return node{}, malformed("more than %d parts", maxParts)
		case p.shape == file:
			files = append(files, p)
		default:
			values.Add(p.name, p.text)
		}
	}
}

func withFiles(values url.Values, files []node) (node, error) {
	form, err := flat(values)
	for _, f := range files {
		if form.member(f.name) != nil {
			at := path{steps: []step{memberStep(f.name)}}
			return node{}, at.invalid("given twice")
		}
		form.nodes = append(form.nodes, f)
	}
	return form, err
}

// part reads the next part of a multipart body. A part with a file name is a file. After the last
// part, the error is io.EOF.
func part(reader *multipart.Reader) (node, error) {
	p, err := reader.NextPart()
	if err == io.EOF { //nolint:errorlint // a wrapped EOF means that the body was cut off, a bare EOF that it is complete
		return node{}, io.EOF
	}
	if err != nil {
		return node{}, malformed("not multipart/form-data: %s", err)
	}
	content, err := io.ReadAll(p)
	if err != nil {
		return node{}, malformed("not multipart/form-data: %s", err)
	}
	read := node{shape: loose, name: p.FormName(), text: string(content)}
	if p.FileName() != "" {
		read.shape, read.fileName = file, p.FileName()
	}
	if read.name == "" {
		return node{}, notForFiles(&read)
	}
	return read, nil
}

func notForFiles(n *node) error {
	at := path{steps: []step{memberStep(n.name)}}
	return at.invalid("must be a field with a name, not a file")
}

// refuseFiles fails for a file in a field that does not accept files. The error names the field that
// accepts a file, if there is one.
func refuseFiles(body *node, p *plan) error {
	for i := range body.nodes {
		if body.nodes[i].shape != file {
			continue
		}
		if field := p.body.find(body.nodes[i].name); field == nil || !takesFile(field.typ) {
			return p.withFileField(notForFiles(&body.nodes[i]))
		}
	}
	return nil
}

// withFileField adds the name of the field for a file to an error about a misplaced file.
func (p *plan) withFileField(err error) error {
	at := slices.IndexFunc(p.body.list, func(f field) bool { return takesFile(f.typ) })
	var reported *passerelle.Error
	if at >= 0 && errors.As(err, &reported) {
		reported.Message += fmt.Sprintf("; the field for the file is %s", p.body.list[at].name)
	}
	return err
}

// compressions lists the content codings that compress a body. The service ignores other values of
// Content-Encoding, because some clients send a character set in it.
var compressions = []string{"gzip", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd"}

// refuseCompression fails for a compressed body.
func refuseCompression(contentEncoding string) error {
	for coding := range strings.SplitSeq(strings.ToLower(contentEncoding), ",") {
		if slices.Contains(compressions, strings.TrimSpace(coding)) {
			return passerelle.InvalidField("Content-Encoding", "must be absent: the service does not decompress request bodies")
		}
	}
	return nil
}

package reference

import (
	"net/http"
	"net/url"
	"strings"

	"passerelle"
)

// place has the data of the reader's host that examples need: the address of the API and, in a
// sandbox, the ids of the newest objects. Readers can send examples with these values unchanged.
type place struct {
	base    string
	sandbox bool
	ids     map[string]string
}

// nowhere is the address in examples when the reader's host does not belong to a domain.
const nowhere = "https://bank.example/2.0"

func (r *Reference) placeOf(request *http.Request) place {
	d, err := r.Domain(request.Context(), request.Host)
	if err != nil {
		return place{base: nowhere}
	}
	at := place{base: d.BaseURL, sandbox: d.Kind == passerelle.Sandbox}
	if at.sandbox {
		at.ids = r.IDs(request.Context(), d)
	}
	return at
}

// shownChapter is a chapter in the form that one reader sees.
type shownChapter struct {
	Name  string
	Calls []shownCall
	// Sends is set when the page can send requests.
	Sends bool
}

// shownCall is a call with its examples, and the fields of the form that sends it.
type shownCall struct {
	Call
	Examples []example
	// Path contains the names of the ids. IDs has these names and their values. An unknown value is
	// empty.
	Path string
	IDs  []pathID
}

// pathID is an id in a path.
type pathID struct{ Name, Value string }

// show returns a chapter with its calls in the form for one reader.
func (at place) show(chapter Chapter) shownChapter {
	shown := shownChapter{Name: chapter.Name, Sends: at.sandbox}
	for _, call := range chapter.Calls {
		one := shownCall{Call: call, Path: call.Path}
		address := call.Path
		for _, name := range namesIn(call.Path) {
			value := at.ids[name]
			one.IDs = append(one.IDs, pathID{name, value})
			if value == "" {
				value = samplesOfIDs[name]
			}
			if value == "" {
				value = "1"
			}
			address = strings.ReplaceAll(address, "{"+name+"}", url.PathEscape(value))
		}
		one.Examples = request{method: call.Methods[0], address: at.base + address, body: call.Body, token: len(call.Kinds) > 0}.examples()
		shown.Calls = append(shown.Calls, one)
	}
	return shown
}

// samplesOfIDs has sample values for the ids that are not numbers.
var samplesOfIDs = map[string]string{"userId": "me", "key": "customer", "type": "bank", "name": "file.pdf"}

// namesIn returns the names of the ids in a path.
func namesIn(path string) []string {
	var names []string
	for segment := range strings.SplitSeq(path, "/") {
		if name, is := strings.CutPrefix(segment, "{"); is {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

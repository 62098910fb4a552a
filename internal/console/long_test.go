package console_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"passerelle"
	"passerelle/connector"
	"passerelle/connector/sandbox"
	"passerelle/internal/domains"
	"passerelle/internal/operators"
	"passerelle/internal/servicetest"
)

func (d *fixture) crowd(n int) {
	d.t.Helper()
	model, known := d.Aggregation.Connectors.DataReader(sandbox.TestConnector)
	if !known {
		d.t.Fatal("the test bank is not there")
	}
	var all []connector.Connector
	for i := range n {
		p := model.Profile()
		p.ID, p.UUID = int64(1000+i), fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		p.Name = fmt.Sprintf("Caisse régionale de crédit mutuel agricole de la ville %d", i)
		p.Sources = slices.Clone(p.Sources)
		for n := range p.Sources {
			p.Sources[n].ID = 100*p.ID + int64(n)
		}
		all = append(all, named{model.(bank), p})
	}
	registry, err := connector.NewRegistry(all...)
	must(d.t, err)
	d.Aggregation.Connectors, d.Initiation.Connectors = registry, registry
}

type bank interface {
	connector.DataReader
	connector.Initiator
}

type named struct {
	bank
	profile connector.Profile
}

func (n named) Profile() connector.Profile { return n.profile }

var asset = regexp.MustCompile(`(?:href|src)="(/[^"]*\.(?:css|mjs|svg)[^"]*)"`)

// weight returns the size of a page in bytes, including its style sheets, scripts and SVG files.
func (d *fixture) weight(path string) int {
	d.t.Helper()
	a := d.get(path)
	if a.status != http.StatusOK {
		d.t.Fatalf("%s: %d", path, a.status)
	}
	total := len(a.body)
	for _, found := range asset.FindAllStringSubmatch(a.body, -1) {
		total += len(d.get(found[1]).body)
	}
	return total
}

func TestLongListsAreTurned(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.crowd(1000)
		list := d.domainPath("/connectors")
		first := d.shows(list, []string{"ville 0<", "ville 49<"}, "ville 50<", `rel="prev"`)
		second := d.shows(list+link(t, first, "next"), []string{"ville 50<", "ville 99<"}, "ville 49<", "ville 100<")
		d.shows(list+link(t, second, "prev"), []string{"ville 0<", "ville 49<"}, "ville 50<", `rel="prev"`)
		d.shows(list+"?search=VILLE+997", []string{"ville 997<"}, "ville 996<", `rel="next"`)
		d.shows(list+"?search=nobody", []string{"No banks match."})
		troubles := d.domainPath("/connections")
		d.shows(troubles+"?connector=Caisse+régionale+de+crédit+mutuel+agricole+de+la+ville+3", []string{"No connections match."}, "<select id=\"connector\"")
		if a := d.get(troubles + "?connector=nobody"); a.status != http.StatusUnprocessableEntity {
			t.Errorf("of no connector: %d", a.status)
		}
		for _, path := range []string{list, troubles, d.domainPath("/payments"), d.domainPath("/simulation/scenarios"), d.domainPath("/configuration")} {
			if n := d.weight(path); n >= 100_000 {
				t.Errorf("%s has %d bytes", path, n)
			}
		}
	})
}

func TestManyDomains(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		for i := range 60 {
			one := passerelle.Domain{Name: fmt.Sprintf("tenant-%d", i), Kind: passerelle.Sandbox, BaseURL: fmt.Sprintf("https://t%d.example/2.0", i), Created: d.Domain.Created}
			must(t, domains.Create(t.Context(), d.DB, &one))
		}
		first := d.shows("/console/domains", []string{"tenant-48<"}, "tenant-49<")
		d.shows("/console/domains"+link(t, first, "next"), []string{"tenant-49<", "tenant-59<"}, "tenant-48<", `rel="next"`)
	})
}

func (d *fixture) upload(page, to, field string, content []byte) answer {
	d.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	must(d.t, form.WriteField("csrf", d.token(page)))
	file, err := form.CreateFormFile(field, "logo.png")
	must(d.t, err)
	_, err = file.Write(content)
	must(d.t, err)
	must(d.t, form.Close())
	request, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.Origin+to, &body)
	must(d.t, err)
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return d.do(request)
}

func TestLogoKeysAndTextsOfAClient(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		page := d.domainPath("/clients/" + d.ClientID)
		viewer := newFixture(t, d.Instance)
		viewer.enter(operators.Viewer)
		for _, form := range []string{"/logo", "/logo/delete", "/keys", "/config"} {
			if a := viewer.submit(page, page+form); a.status != http.StatusForbidden {
				t.Errorf("%s as a viewer: %d", form, a.status)
			}
		}
		d.enter(operators.Developer)
		logo := page + "/logo"
		var picture bytes.Buffer
		must(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 20, 10))))
		for reported, content := range map[string][]byte{"Picture: must be a picture": []byte(hostile), "Picture: must have at most": make([]byte, 257<<10)} {
			if a := d.upload(page, logo, "logo", content); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, reported) {
				t.Errorf("%s: %d %s", reported, a.status, a.body)
			}
		}
		d.wants(page, logo, 422, "Picture: must be a picture")
		if a := d.upload(page, logo, "logo", make([]byte, 1<<20)); a.status != http.StatusRequestEntityTooLarge {
			t.Errorf("far too much: %d", a.status)
		}
		if a := d.upload(page, logo, "logo", picture.Bytes()); a.status != http.StatusSeeOther {
			t.Fatalf("a picture: %d %s", a.status, a.body)
		}
		shown := regexp.MustCompile(`src="([^"]*/logo/\d+)"`).FindStringSubmatch(d.get(page).body)
		if shown == nil {
			t.Fatal("the logo is not shown")
		}
		if a := d.get(shown[1]); a.status != http.StatusOK || a.header.Get("Content-Type") != "image/png" {
			t.Errorf("the logo: %d %s", a.status, a.header.Get("Content-Type"))
		}
		if a := d.get(shown[1] + "9"); a.status != http.StatusNotFound {
			t.Errorf("another logo: %d", a.status)
		}
		d.wants(page, page+"/logo/delete", 303, "")
		d.shows(page, []string{"None."}, "<img")

		d.shows(page, []string{"Create keys…"}, "BEGIN PUBLIC KEY")
		d.wants(page, page+"/keys", 303, "")
		first := d.shows(page, []string{"Replace the keys…", "BEGIN PUBLIC KEY"}).body
		d.wants(page, page+"/keys", 303, "")
		if d.get(page).body == first {
			t.Error("the keys are the same")
		}

		d.wants(page, page+"/config", 422, "Key:", "key", " ", "value", "x", "act", "set")
		d.wants(page, page+"/config", 422, "<p>Value: ", "key", "webview.origins", "value", "shop", "act", "set")
		d.wants(page, page+"/config", 400, "", "key", "a", "act", "other")
		d.wants(page, page+"/config", 303, "", "key", "first", "value", hostile, "act", "set")
		d.wants(page, page+"/config", 303, "", "key", "second", "value", "two\r\nlines", "act", "set")
		d.shows(page, []string{"first", "planted", "two\nlines"}, hostile)
		d.wants(page, page+"/config", 303, "", "key", "first", "act", "remove")
		var client struct{ Config map[string]string }
		d.JSON(d.OK(d.Call("GET", "/clients/"+d.ClientID, d.ConfigToken, nil)), &client)
		if len(client.Config) != 1 || client.Config["second"] != "two\nlines" {
			t.Errorf("kept: %v", client.Config)
		}
		on := " client " + d.ClientID
		d.wantOnRecord("set logo of client"+on, "delete logo of client"+on, "make keys of client"+on, "make keys of client"+on, "change client"+on, "change client"+on, "change client"+on)
	})
}

// The page of a payment with many instructions stays small, also when many banks do not support the
// payment.
func TestManyInstructionsInAPayment(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.enter(operators.Viewer)
		d.crowd(2000)
		draft := servicetest.Draft()
		one := line(draft)
		one["currency"], one["execution_date_type"] = "SEK", "first_open_day"
		var lines []any
		for range 1000 {
			lines = append(lines, one)
		}
		draft["instructions"] = lines
		page := d.paymentPath(d.Create(d.Token("payments:admin"), draft))
		body := d.shows(page, []string{"And 950 more instructions.", "2000 banks", "The list has the first 50."}).body
		if n := d.weight(page); n >= 100_000 || strings.Count(body, "Invoice 42") != 50 {
			t.Errorf("the page has %d bytes, %d instructions", n, strings.Count(body, "Invoice 42"))
		}
	})
}

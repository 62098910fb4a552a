package progress_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"passerelle/internal/progress"
)

// TestLines checks that the package writes a line every ten seconds, in words or as JSON.
func TestLines(t *testing.T) {
	for name, test := range map[string]struct {
		json bool
		want string
	}{
		"words": {want: "rewrap: 100 values, 10 a second\nrewrap: 400 of 1000 values, 20 a second, 30s left\n"},
		"json": {json: true, want: `{"work":"rewrap","done":100,"unit":"values","per_second":10}` + "\n" +
			`{"work":"rewrap","done":400,"total":1000,"unit":"values","per_second":20,"seconds_left":30}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				m := progress.Start(&out, test.json, "rewrap")
				m.Expect(0, "values")
				m.At(100)
				<-time.After(11 * time.Second)
				m.Expect(1000, "values")
				m.At(400)
				<-time.After(10 * time.Second)
				m.At(1200)
				m.End()
				if got := out.String(); got != test.want {
					t.Errorf("got\n%swant\n%s", got, test.want)
				}
			})
		})
	}
}

// TestWorkOfUnknownAmount checks the line of work that still waits, such as a migration while another
// process migrates.
func TestWorkOfUnknownAmount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := progress.Start(&out, false, "migrate")
		<-time.After(11 * time.Second)
		m.End()
		if got := out.String(); got != "migrate: preparing\n" {
			t.Errorf("it says %q", got)
		}
	})
}

func TestShortWorkIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := progress.Start(&out, false, "migrate")
		m.Expect(3, "migrations")
		<-time.After(9 * time.Second)
		m.End()
		if out.Len() > 0 {
			t.Errorf("it says %s", &out)
		}
	})
}

// TestMoreThanExpected checks that a line never shows more work than the total.
func TestMoreThanExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := progress.Start(&out, false, "rewrap")
		m.Expect(10, "values")
		m.At(12)
		<-time.After(11 * time.Second)
		m.End()
		if got := out.String(); !strings.HasPrefix(got, "rewrap: 10 of 10 values") || strings.Contains(got, "-") {
			t.Errorf("it says %s", got)
		}
	})
}

func TestNoMeter(t *testing.T) {
	var m *progress.Meter
	m.Expect(1, "values")
	m.At(1)
	m.End()
}

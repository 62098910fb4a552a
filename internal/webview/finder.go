package webview

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"passerelle/internal/picture"
	"passerelle/internal/web"
	"passerelle/internal/webview/chooser"
)

// choosing returns the input for a page's list of institutions.
func (w *Webview) choosing(pc *pageContext, favourites []string, hints ...string) chooser.Inquiry {
	return chooser.Inquiry{HTTP: pc.request, Words: pc.words, Recent: w.recent(pc), Favourites: favourites, Hints: hints}
}

// countriesBody is the content of the page on which a person chooses a country.
type countriesBody struct {
	frame
	Title   string
	Nations []chooser.Nation
	Back    string
}

// newCountries returns the content of the page on which a person chooses a country.
func (w *Webview) newCountries(pc *pageContext, f frame, all []chooser.Institution, hints ...string) countriesBody {
	query := pc.request.URL.Query()
	query.Del("step")
	return countriesBody{frame: f, Title: pc.words.Say("countries.title"), Nations: w.choosing(pc, nil, hints...).Nations(all), Back: "?" + query.Encode()}
}

// markOf returns the mark of an institution: the operator's logo, or a generated mark.
func (w *Webview) markOf(uuid, name string) chooser.Mark {
	if _, version := w.Logos.Find(uuid); version != "" {
		return chooser.Mark{Logo: bankLogoPath + uuid + "." + version + ".png"}
	}
	return chooser.NewMark(name)
}

// bankLogoPath is the path of the institutions' logos that the operator provides.
const bankLogoPath = web.AssetPath + "banks/"

// bankLogo serves the logo that the operator provides for an institution. An address with another
// version of the logo counts as a missing asset.
func (w *Webview) bankLogo(writer http.ResponseWriter, request *http.Request) {
	uuid, version, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, bankLogoPath), ".")
	content, current := w.Logos.Find(uuid)
	if current == "" || version != current+".png" {
		w.assets.ServeHTTP(writer, request)
		return
	}
	web.Picture(writer, request, picture.MediaType, content)
}

// The service stores no list of the banks with which a person paid. Only a cookie in the person's
// browser contains this list.
const (
	recentCookie = "recent_banks"
	recentLife   = 180 * 24 * time.Hour
	maxRecent    = 3
)

func (w *Webview) recent(pc *pageContext) []string {
	var uuids []string
	_ = w.sealer.Read(pc.request, recentCookie, &uuids) // without a cookie, the list is empty
	return uuids
}

// rememberBank puts a bank first in the list in this browser's cookie, and limits the length of
// that list. It ignores an error, because the payment is already ordered.
func (w *Webview) rememberBank(pc *pageContext, uuid string) {
	others := slices.DeleteFunc(w.recent(pc), func(other string) bool { return other == uuid })
	uuids := append([]string{uuid}, others...)
	_ = w.sealer.Set(pc.writer, web.Cookie{
		Name: recentCookie, Path: pc.root, Secure: pc.secure(), Life: recentLife,
	}, uuids[:min(len(uuids), maxRecent)])
}

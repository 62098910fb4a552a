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

// choosing is what a list of institutions is made for on a page.
func (w *Webview) choosing(pc *pageContext, favourites []string, hints ...string) chooser.Inquiry {
	return chooser.Inquiry{HTTP: pc.request, Words: pc.words, Recent: w.recent(pc), Favourites: favourites, Hints: hints}
}

// countriesBody is what the page shows on which a country is chosen.
type countriesBody struct {
	frame
	Title   string
	Nations []chooser.Nation
	Back    string
}

// newCountries is the content of the page on which a country is chosen.
func (w *Webview) newCountries(pc *pageContext, f frame, all []chooser.Institution, hints ...string) countriesBody {
	query := pc.request.URL.Query()
	query.Del("step")
	return countriesBody{frame: f, Title: pc.words.Say("countries.title"), Nations: w.choosing(pc, nil, hints...).Nations(all), Back: "?" + query.Encode()}
}

// markOf is the mark of an institution: the operator's picture, or a drawn one.
func (w *Webview) markOf(uuid, name string) chooser.Mark {
	if _, version := w.Logos.Find(uuid); version != "" {
		return chooser.Mark{Logo: bankLogoPath + uuid + "." + version + ".png"}
	}
	return chooser.NewMark(name)
}

// bankLogoPath is where the operator's pictures of institutions are.
const bankLogoPath = web.AssetPath + "banks/"

// bankLogo serves the operator's picture of an institution. The address of another version is
// answered like any asset that is not there.
func (w *Webview) bankLogo(writer http.ResponseWriter, request *http.Request) {
	uuid, version, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, bankLogoPath), ".")
	content, current := w.Logos.Find(uuid)
	if current == "" || version != current+".png" {
		w.assets.ServeHTTP(writer, request)
		return
	}
	web.Picture(writer, request, picture.MediaType, content)
}

// The banks with which a person paid before are stored only in their browser.
const (
	recentCookie = "recent_banks"
	recentLife   = 180 * 24 * time.Hour
	maxRecent    = 3
)

func (w *Webview) recent(pc *pageContext) []string {
	var uuids []string
	_ = w.sealer.Read(pc.request, recentCookie, &uuids) // without one nothing is remembered
	return uuids
}

// rememberBank puts a bank first in the list that this browser keeps. The cookie is never too
// long. If it were, the ordered payment would matter more.
func (w *Webview) rememberBank(pc *pageContext, uuid string) {
	others := slices.DeleteFunc(w.recent(pc), func(other string) bool { return other == uuid })
	uuids := append([]string{uuid}, others...)
	_ = w.sealer.Set(pc.writer, web.Cookie{
		Name: recentCookie, Path: pc.root, Secure: pc.secure(), Life: recentLife,
	}, uuids[:min(len(uuids), maxRecent)])
}

package web

import (
	"fmt"
	"html/template"
)

// icons has the drawings of the icons: strokes on a grid of 24 by 24. An icon repeats the text
// beside it, so screen readers skip the icon.
var icons = map[string]string{
	"home":        "M4 11l8-7 8 7v9h-5v-6H9v6H4z",
	"payment":     "M3 6h18v12H3zM3 10h18M7 15h4",
	"user":        "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 4-6 8-6s8 2 8 6",
	"alert":       "M12 4l9 16H3zM12 10v4M12 17v.5",
	"bank":        "M4 10l8-6 8 6zM6 10v8M10 10v8M14 10v8M18 10v8M3 20h18",
	"webhook":     "M4 12h10M10 7l5 5-5 5M19 5v14",
	"application": "M4 5h16v14H4zM4 9h16M7 7h.5M10 7h.5",
	"key":         "M15 14a5 5 0 1 0-4.6-3L3 18.500V21h4v-3h3l2.600-3.300A5 5 0 0 0 15 14zM16 8h.5",
	"clock":       "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3 3",
	"play":        "M7 5l12 7-12 7z",
	"inbox":       "M4 5h16v14H4zM4 14h5l1 2h4l1-2h5",
	"settings":    "M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4",
	"domain":      "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
	"program":     "M4 5h16v14H4zM8 10l3 2.500-3 2.500M13 15h4",
	"domains":     "M12 4l9 5-9 5-9-5zM3 14l9 5 9-5",
	"operator":    "M4 5h16v14H4zM12 11a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 16c0-2 2-3 4-3s4 1 4 3",
	"audit":       "M6 3h9l4 4v14H6zM9 11h7M9 15h7",
	"search":      "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5",
	"menu":        "M4 7h16M4 12h16M4 17h16",
	"check":       "M5 13l4 4L19 7",
}

// Icon returns an icon as HTML. Icon fails for an unknown name. A page with the wrong name of an
// icon is therefore never sent.
func Icon(name string) (template.HTML, error) {
	path, known := icons[name]
	if !known {
		return "", fmt.Errorf("there is no icon %q", name)
	}
	return template.HTML(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="` + path + `"/></svg>`), nil //nolint:gosec // all of the HTML is constant and from the table above
}

// Mark returns the service's mark, which is a bridge, as HTML.
func Mark() template.HTML {
	return `<svg class="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" focusable="false"><rect width="32" height="32" rx="8"/><path d="M5 21h22M5 21c4-9 18-9 22 0M11 21v-4.6M16 21v-6.6M21 21v-4.6"/></svg>`
}

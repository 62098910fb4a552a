package passerelle

import "embed"

// Guides contains the documentation that a running service shows.
//
//go:embed README.md docs/*.md
var Guides embed.FS

package passerelle

import "embed"

// Guides contains the documentation as files: README.md and docs/*.md. A running service shows
// them.
//
//go:embed README.md docs/*.md
var Guides embed.FS

package page

import (
	"strings"

	"passerelle"
)

// menuGroup is a group of links under a heading. The first group of a domain has no heading.
type menuGroup struct {
	Name  string
	Links []menuLink
}

// menuLink is a link to a page. Current marks the link to the shown page or to its parent.
type menuLink struct {
	Name, Icon, Address string
	Current             bool
}

// menuPlace is a link in a domain's menu. It has the path below the domain, and says whether only
// sandboxes have the page.
type menuPlace struct {
	name, icon, path string
	sandbox          bool
}

// menuPlaces has the links of a domain's menu in order, grouped under headings.
var menuPlaces = []struct {
	name   string
	places []menuPlace
}{
	{"", []menuPlace{{name: "Home", icon: "home"}, {name: "Payments", icon: "payment", path: "/payments"}}},
	{"Banking data", []menuPlace{
		{name: "Users", icon: "user", path: "/users"},
		{name: "Failing connections", icon: "alert", path: "/connections"},
		{name: "Banks", icon: "bank", path: "/connectors"},
	}},
	{"Developers", []menuPlace{
		{name: "Webhooks", icon: "webhook", path: "/webhooks"},
		{name: "Applications", icon: "application", path: "/clients"},
		{name: "Tokens", icon: "key", path: "/tokens"},
	}},
	{"Sandbox", []menuPlace{
		{name: "Clock", icon: "clock", path: "/simulation", sandbox: true},
		{name: "Scenarios", icon: "play", path: "/simulation/scenarios", sandbox: true},
		{name: "Receiver", icon: "inbox", path: "/simulation/receiver", sandbox: true},
	}},
	{"Settings", []menuPlace{
		{name: "Configuration", icon: "settings", path: "/configuration"},
		{name: "Domain", icon: "domain", path: "/domain"},
		{name: "Audit log", icon: "audit", path: "/audit"},
	}},
}

// menuOf returns the groups of the menu on a page: the groups of a domain, if any, and the group of
// the deployment. The current link leads to the page itself, or to the nearest page above the page.
// The links Home and Domains are current only on their own pages.
func menuOf(d *passerelle.Domain, root, address string) []menuGroup {
	var groups []menuGroup
	for _, g := range menuPlaces {
		group := menuGroup{Name: g.name}
		for _, p := range g.places {
			if d != nil && (!p.sandbox || d.Kind == passerelle.Sandbox) {
				group.Links = append(group.Links, menuLink{Name: p.name, Icon: p.icon, Address: root + p.path})
			}
		}
		if len(group.Links) > 0 {
			groups = append(groups, group)
		}
	}
	groups = append(groups, menuGroup{Name: "Deployment", Links: []menuLink{
		{Name: "Domains", Icon: "domains", Address: Root + "domains"},
		{Name: "Connector programs", Icon: "program", Address: Root + "programs"},
		{Name: "Your account", Icon: "operator", Address: Root + "account"},
	}})
	markCurrent(groups, root, address)
	return groups
}

func markCurrent(groups []menuGroup, root, address string) {
	var current *menuLink
	for _, group := range groups {
		for i := range group.Links {
			link := &group.Links[i]
			below := address == link.Address || link.Address != root && link.Address != Root+"domains" && strings.HasPrefix(address, link.Address+"/")
			if below && (current == nil || len(link.Address) > len(current.Address)) {
				current = link
			}
		}
	}
	if current != nil {
		current.Current = true
	}
}

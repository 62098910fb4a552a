package delivery

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// closed lists addresses that Outbound always refuses, even if an allow-list contains them. Cloud
// providers offer the machine's credentials at these addresses, or access to the machine. All
// link-local addresses are closed, because providers may assign further addresses. No receiver has
// such an address.
var closed = prefixes(
	"169.254.0.0/16", "fe80::/10",
	"100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
	"fd00:ec2::/32", "fd20:ce::254/128", "fd00:42::42/128", "fd00:a9fe:a9fe::1/128",
)

var loopback = prefixes("127.0.0.0/8", "::1/128")

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

func within(addr netip.Addr, prefixes []netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// guard returns a function that checks an address just before a connection to it is opened. An
// earlier check would not be enough: a name may resolve to another address in the meantime.
func (o Outbound) guard() func(network, address string, conn syscall.RawConn) error {
	v4, v6 := o.allowed()
	guardian := ssrf.New(o.ports(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	return func(network, address string, conn syscall.RawConn) error {
		if err := guardian.Safe(network, address, conn); err != nil {
			return fmt.Errorf("%w: %w", ErrAddress, err)
		}
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrAddress, err)
		}
		addr := target.Addr().Unmap().WithZone("")
		if within(addr, closed) || !o.carriesOpen(addr, guardian) {
			return fmt.Errorf("%w: %s", ErrAddress, address)
		}
		return nil
	}
}

// Refuses returns the reason why the service sends no requests to an address with a port, such as
// 192.0.2.1:443. It returns nil when requests to this address are allowed.
func (o Outbound) Refuses(address string) error {
	network := "tcp4"
	if strings.HasPrefix(address, "[") {
		network = "tcp6"
	}
	return o.guard()(network, address, nil)
}

func (o Outbound) ports() ssrf.Option {
	if len(o.Ports) == 0 {
		return ssrf.WithAnyPort()
	}
	return ssrf.WithPorts(o.Ports...)
}

// carriesOpen reports whether requests may go to all IPv4 addresses that an IPv6 address contains.
// If the form of the address is vague, the IPv4 address is refused only if Outbound always refuses
// it (see closed).
func (o Outbound) carriesOpen(addr netip.Addr, guardian *ssrf.Guardian) bool {
	for _, inner := range carried(addr) {
		if within(inner.addr, closed) || inner.certain && guardian.SafeAddr(inner.addr) != nil {
			return false
		}
	}
	return true
}

// allowed returns the allowed networks, separated into IPv4 and IPv6.
func (o Outbound) allowed() ([]netip.Prefix, []netip.Prefix) {
	var (
		v4 []netip.Prefix
		v6 []netip.Prefix
	)
	open := slices.Clone(o.Networks)
	if o.Loopback {
		open = append(open, loopback...)
	}
	for _, prefix := range open {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	return v4, v6
}

// carrier is a form of IPv6 address that contains an IPv4 address. A gateway or the end of a
// tunnel would connect to that IPv4 address.
type carrier struct {
	prefix netip.Prefix
	// mark is the required content of the bytes 8 to 11 of the address, counted from 0. A nil mark
	// means any content.
	mark []byte
	// at contains the positions of the four bytes of the IPv4 address, counted from 0. Each of
	// these bytes is combined with mask by exclusive or.
	at   [4]int
	mask byte
	// vague means that addresses with the prefix may also be normal addresses, which contain no
	// IPv4 address. Such an address is refused only if Outbound always refuses the IPv4 address
	// inside it (see closed).
	vague bool
}

var last = [4]int{12, 13, 14, 15}

var carriers = []carrier{
	{prefix: netip.MustParsePrefix("::/96"), at: last, vague: true}, // IPv4-compatible, RFC 4291
	{prefix: netip.MustParsePrefix("::ffff:0:0:0/96"), at: last},    // IPv4-translated, RFC 2765
	{prefix: netip.MustParsePrefix("64:ff9b::/96"), at: last},       // NAT64, RFC 6052
	// NAT64 with a local prefix of 48, 56, 64 or 96 bits, RFC 8215.
	{prefix: netip.MustParsePrefix("64:ff9b:1::/48"), at: [4]int{6, 7, 9, 10}, vague: true},
	{prefix: netip.MustParsePrefix("64:ff9b:1::/48"), at: [4]int{7, 9, 10, 11}, vague: true},
	{prefix: netip.MustParsePrefix("64:ff9b:1::/48"), at: [4]int{9, 10, 11, 12}, vague: true},
	{prefix: netip.MustParsePrefix("64:ff9b:1::/48"), at: last, vague: true},
	{prefix: netip.MustParsePrefix("2002::/16"), at: [4]int{2, 3, 4, 5}},              // 6to4, RFC 3056
	{prefix: netip.MustParsePrefix("2001::/32"), at: [4]int{4, 5, 6, 7}},              // IPv4 address of the Teredo server, RFC 4380
	{prefix: netip.MustParsePrefix("2001::/32"), at: last, mask: 0xff},                // IPv4 address of the Teredo client
	{prefix: netip.MustParsePrefix("::/0"), mark: []byte{0, 0, 0x5e, 0xfe}, at: last}, // ISATAP, RFC 5214
	{prefix: netip.MustParsePrefix("::/0"), mark: []byte{2, 0, 0x5e, 0xfe}, at: last},
}

// inner is an IPv4 address inside an IPv6 address.
type inner struct {
	addr    netip.Addr
	certain bool
}

// carried returns the IPv4 addresses that an IPv6 address may contain.
func carried(addr netip.Addr) []inner {
	if addr.Is4() {
		return nil
	}
	var found []inner
	wide := addr.As16()
	for _, c := range carriers {
		if !c.prefix.Contains(addr) || c.mark != nil && !slices.Equal(c.mark, wide[8:12]) {
			continue
		}
		var v4 [4]byte
		for i, at := range c.at {
			v4[i] = wide[at] ^ c.mask
		}
		found = append(found, inner{netip.AddrFrom4(v4), !c.vague})
	}
	return found
}

package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"passerelle"
	"passerelle/internal/console/page"
	"passerelle/internal/operators"
	"passerelle/internal/programs"
)

func (c *Console) programRoutes() []page.Route {
	return []page.Route{
		page.Get("programs", c.programs),
		page.Post("programs", c.addProgram),
		page.Post("programs/#/check", c.checkProgram),
		page.Post("programs/#/remove", c.removeProgram),
	}
}

// programsData is the content of the page that lists connector programs, with a form for another.
type programsData struct {
	Rows      []programRow
	Address   string
	MayChange bool
}

// programRow is a connector program with its data. Mistyped is set after a mistake in its form.
type programRow struct {
	Number    int64
	Name      string
	Disturbed bool
	Mistyped  bool
	Facts     []page.DetailRow
}

// mayChangePrograms reports whether the operator may change connector programs. The operator must
// be an administrator. If any domain is live, the operator also needs a second factor, because a
// program is a connector of all domains.
func (c *Console) mayChangePrograms(pc *page.Context) (bool, error) {
	if !pc.Who.May(operators.SetUp) || pc.Who.HasSecondFactor() {
		return pc.Who.May(operators.SetUp), nil
	}
	all, err := c.DB.Domains(pc)
	if err != nil {
		return false, fmt.Errorf("list the domains: %w", err)
	}
	return !slices.ContainsFunc(all, func(d passerelle.Domain) bool { return d.Kind == passerelle.Live }), nil
}

// programs lists the connector programs.
func (c *Console) programs(pc *page.Context) error {
	all, err := programs.List(pc, &c.DB.Reader)
	if err != nil {
		return err
	}
	var data programsData
	if data.MayChange, err = c.mayChangePrograms(pc); err != nil {
		return err
	}
	for _, p := range all {
		data.Rows = append(data.Rows, c.programRow(pc, p))
	}
	if pc.Problem != "" {
		data.Address = pc.Field("address")
	}
	return pages.Send(pc, "programs", "Connector programs", data)
}

// leftAlone has the texts for a program with failing calls. The key is true if this replica saw the
// failures, and false if another replica saw them.
var leftAlone = map[bool]string{
	true: "not called, except for occasional test calls", false: "not called by another replica; this one still calls it",
}

func (c *Console) programRow(pc *page.Context, p programs.Program) programRow {
	var able []string
	if p.Described.Payments != nil {
		able = append(able, "payments")
	}
	if p.Described.Data != nil {
		able = append(able, p.Described.Data.Capabilities...)
	}
	h, monitored := c.Aggregation.Connectors.Health(p.UUID)
	state := ""
	switch {
	case p.Err != nil:
		state = "not available: its profile cannot be read"
	case monitored && h.Disturbed():
		state = leftAlone[h.Open]
	case monitored && h.Failures > 0:
		state = "failed " + strconv.Itoa(h.Failures) + " times in a row"
	case monitored && !h.LastSuccess.IsZero():
		state = "working"
	}
	return programRow{p.Number(), cmp.Or(p.Described.Name, p.UUID), monitored && h.Disturbed(), slices.Contains(pc.Numbers, p.Number()) && pc.Wrong == "number", append(page.Details(
		"Number", strconv.FormatInt(p.Number(), 10),
		"UUID", p.UUID,
		"Address", p.Address,
		"Countries", countries(p.Described.Countries),
		"Does", strings.Join(able, ", "),
		"State", state,
	), page.At("Added", pc.RealWhen(p.Added))...)}
}

// changeProgram changes the program in the request's path, and redirects to the list.
func (c *Console) changeProgram(pc *page.Context, done string, change func(programs.Program) error) error {
	may, err := c.mayChangePrograms(pc)
	if err != nil {
		return err
	}
	if !may {
		return page.ErrForbidden
	}
	one, err := programs.Find(pc, &c.DB.Reader, strconv.FormatInt(pc.Numbers[0], 10))
	if err != nil {
		return err
	}
	return pc.After(change(one), done, page.Root+"programs", c.programs)
}

// addProgram reads a program's description, and adds the program for all domains.
func (c *Console) addProgram(pc *page.Context) error {
	may, err := c.mayChangePrograms(pc)
	if err != nil {
		return err
	}
	if !may {
		return page.ErrForbidden
	}
	_, err = c.Programs.Add(pc, strings.TrimSpace(pc.Field("address")), strings.TrimSpace(pc.Field("secret")), pc.Record(programs.ActAdd, programs.Subject, 0))
	return pc.After(err, "The program was added.", page.Root+"programs", c.programs)
}

// checkProgram reads a program's description again.
func (c *Console) checkProgram(pc *page.Context) error {
	return c.changeProgram(pc, "The program's profile was updated.", func(p programs.Program) error {
		return c.Programs.Check(pc, p, pc.Record(programs.ActCheck, programs.Subject, 0))
	})
}

// removeProgram removes a program from all domains. The operator must type the program's number.
func (c *Console) removeProgram(pc *page.Context) error {
	return c.changeProgram(pc, "The program was removed from all domains.", func(p programs.Program) error {
		if err := pc.Confirmed(p.Number()); err != nil {
			return err
		}
		return c.Programs.Remove(pc, p, pc.Record(programs.ActRemove, programs.Subject, 0))
	})
}

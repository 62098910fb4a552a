package httpapi

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"passerelle"
)

// binding is the state while a request fills an input.
type binding struct {
	path path
	// strict is set when an unknown name is an error.
	strict bool
	// user is the id that "me" means in a path.
	user passerelle.UserID
	// unread lists the members that a field "*" did not receive (see Caller.Known).
	unread []node
}

// setter stores a node in a field. It fails when the node is not valid for the field.
type setter func(b *binding, v reflect.Value, n *node) error

// nodeReader is the interface of types that parse their own value. For example, a value may be a
// string or an array. The rules come from the tags of the field.
type nodeReader interface {
	readNode(r rules, at *path, n *node) error
	// schema returns the schema of the accepted values.
	schema() *schema
}

// valued is the interface of types with a fixed set of values.
type valued interface{ Values() []string }

// compile chooses the setter of a field by its type.
func compile(f *field, t reflect.Type) {
	f.scalar = true
	switch {
	case implements[nodeReader](t):
		f.set, f.nullable = setReader(f.rules), true
	case implements[encoding.TextUnmarshaler](t):
		f.set = setTextual
	default:
		compileKind(f, t)
	}
}

func compileKind(f *field, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer:
		compile(f, t.Elem())
		f.set, f.nullable = setPointer(t.Elem(), f.set), false
	case reflect.Slice:
		compile(f, t.Elem())
		f.set, f.nullable = setList(t, f.set, f.scalar), false
	case reflect.Struct:
		f.scalar, f.members = false, objectPlan(t)
		f.set = f.members.set
	case reflect.Map:
		compile(f, t.Elem())
		f.scalar, f.nullable, f.set = false, false, setMap(t, f.set, f.rules)
	case reflect.String:
		compileText(f, t)
	case reflect.Bool:
		f.set = setFlag
	case reflect.Int, reflect.Int64:
		f.set = setInteger(f.rules)
	default:
		panic(fmt.Sprintf("httpapi: field %s: a %s cannot come in a request", f.name, t))
	}
}

func compileText(f *field, t reflect.Type) {
	if words, ok := reflect.Zero(t).Interface().(valued); ok && f.rules.enum == nil {
		f.rules.enum = words.Values()
	}
	f.set = setText(f.rules)
}

func implements[T any](t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[T]())
}

// as returns a field as an interface. newPlan has checked that the field's type implements this
// interface.
func as[T any](v reflect.Value) T {
	own, ok := reflect.TypeAssert[T](v.Addr())
	if !ok {
		panic(fmt.Sprintf("httpapi: %s is not a %s", v.Type(), reflect.TypeFor[T]()))
	}
	return own
}

func setReader(r rules) setter {
	return func(b *binding, v reflect.Value, n *node) error {
		if r.max != nil && r.exceeds(n) {
			return b.path.invalid("longer than %d characters", *r.max)
		}
		return as[nodeReader](v).readNode(r, &b.path, n)
	}
}

func setTextual(b *binding, v reflect.Value, n *node) error {
	if n.shape != text && n.shape != loose {
		return b.path.wrong("a string", n)
	}
	if err := b.path.bounded(n); err != nil {
		return err
	}
	if err := as[encoding.TextUnmarshaler](v).UnmarshalText([]byte(n.text)); err != nil {
		return b.path.invalid("%s", err)
	}
	return nil
}

func setPointer(t reflect.Type, set setter) setter {
	return func(b *binding, v reflect.Value, n *node) error {
		v.Set(reflect.New(t))
		return set(b, v.Elem(), n)
	}
}

// setList returns a setter for a list. In a form, a query or a header, commas separate the items of
// a list of scalars.
func setList(t reflect.Type, set setter, scalar bool) setter {
	return func(b *binding, v reflect.Value, n *node) error {
		items := n.nodes
		if n.shape == loose && scalar {
			items = separate(n.text)
		} else if n.shape != list {
			return b.path.wrong("an array", n)
		}
		v.Set(reflect.MakeSlice(t, len(items), len(items)))
		for i := range items {
			b.path.enter(itemStep(i))
			if err := set(b, v.Index(i), &items[i]); err != nil {
				return err
			}
			b.path.leave()
		}
		return nil
	}
}

func separate(words string) []node {
	var items []node
	for word := range strings.SplitSeq(words, ",") {
		if word = strings.TrimSpace(word); word != "" {
			items = append(items, node{shape: loose, text: word})
		}
	}
	return items
}

// maxText is the default limit of the characters in a text. maxMembers limits the members of a map,
// whose names the client chooses. maxName is the default limit of the characters in such a name.
const (
	maxText    = 4096
	maxMembers = 1000
	maxName    = 255
)

// bounded fails for a text of more than maxText characters.
func (p *path) bounded(n *node) error {
	if len(n.text) > maxText && utf8.RuneCountInString(n.text) > maxText {
		return p.invalid("longer than %d characters", maxText)
	}
	return nil
}

func setMap(t reflect.Type, set setter, r rules) setter {
	longest := int64(maxName)
	if r.names != nil {
		longest = *r.names
	}
	return func(b *binding, v reflect.Value, n *node) error {
		if n.shape != object {
			return b.path.wrong("an object", n)
		}
		if len(n.nodes) > maxMembers {
			return b.path.invalid("has more than %d members", maxMembers)
		}
		v.Set(reflect.MakeMapWithSize(t, len(n.nodes)))
		for i := range n.nodes {
			b.path.enter(memberStep(n.nodes[i].name))
			if int64(utf8.RuneCountInString(n.nodes[i].name)) > longest {
				return b.path.invalid("has a name longer than %d characters", longest)
			}
			item := reflect.New(t.Elem()).Elem()
			if err := set(b, item, &n.nodes[i]); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(n.nodes[i].name).Convert(t.Key()), item)
			b.path.leave()
		}
		return nil
	}
}

func setText(r rules) setter {
	return func(b *binding, v reflect.Value, n *node) error {
		switch {
		case n.shape != text && n.shape != loose:
			return b.path.wrong("a string", n)
		case r.exceeds(n):
			return b.path.invalid("longer than %d characters", r.longest())
		case r.enum != nil && !slices.Contains(r.enum, n.text):
			return b.path.invalid("must be one of %s", strings.Join(r.enum, ", "))
		}
		v.SetString(n.text)
		return nil
	}
}

// exceeds reports whether a text is too long.
func (r rules) exceeds(n *node) bool {
	most := r.longest()
	return int64(len(n.text)) > most && int64(utf8.RuneCountInString(n.text)) > most
}

// longest returns the largest number of characters of a text.
func (r rules) longest() int64 {
	if r.max == nil {
		return maxText
	}
	return *r.max
}

func setInteger(r rules) setter {
	return func(b *binding, v reflect.Value, n *node) error {
		if n.shape != number && n.shape != loose {
			return b.path.wrong("an integer", n)
		}
		value, err := strconv.ParseInt(n.text, 10, 64)
		if err != nil {
			return b.path.invalid("must be an integer of at most 64 bits")
		}
		if r.min != nil && value < *r.min || r.max != nil && value > *r.max {
			return b.path.invalid("must be %s", r.span())
		}
		v.SetInt(value)
		return nil
	}
}

// span returns the words that describe the allowed range of a number.
func (r rules) span() string {
	switch {
	case r.max == nil:
		return fmt.Sprintf("at least %d", *r.min)
	case r.min == nil:
		return fmt.Sprintf("at most %d", *r.max)
	}
	return fmt.Sprintf("from %d to %d", *r.min, *r.max)
}

// pathSetter returns a setter for a field in the path. An identifier is a positive decimal number
// without a sign or leading zeros. For a UserID, the text "me" means the caller's user. The
// response to any other text is "not found", without a hint about the form of identifiers. Commas
// separate the identifiers of a list.
func pathSetter(t reflect.Type, set setter) setter {
	if t.Kind() == reflect.Slice {
		return setIdentifiers(t, pathSetter(t.Elem(), nil))
	}
	if t.Kind() != reflect.Int64 {
		return set
	}
	own := t == reflect.TypeFor[passerelle.UserID]()
	return func(b *binding, v reflect.Value, n *node) error {
		if own && n.text == "me" {
			n = &node{shape: loose, text: strconv.FormatInt(int64(b.user), 10)}
		}
		id, err := strconv.ParseInt(n.text, 10, 64)
		if err != nil || id < 1 || strconv.FormatInt(id, 10) != n.text {
			return passerelle.Missing()
		}
		v.SetInt(id)
		return nil
	}
}

// maxIdentifiers is the largest number of identifiers in a path.
const maxIdentifiers = 1000

func setIdentifiers(t reflect.Type, set setter) setter {
	return func(b *binding, v reflect.Value, n *node) error {
		words := strings.Split(n.text, ",")
		if len(words) > maxIdentifiers {
			return b.path.invalid("names more than %d items", maxIdentifiers)
		}
		v.Set(reflect.MakeSlice(t, len(words), len(words)))
		for i, word := range words {
			if err := set(b, v.Index(i), &node{shape: loose, text: word}); err != nil {
				return err
			}
		}
		return nil
	}
}

// set fills a struct from the members of an object. It treats null like an absent member, except
// for an optional field whose type is a nodeReader.
func (f *fields) set(b *binding, v reflect.Value, n *node) error {
	if n.shape != object {
		return b.path.wrong("an object", n)
	}
	var came uint64
	for i := range n.nodes {
		at, known := f.byName[n.nodes[i].name]
		if !known {
			if err := b.unknown(n.nodes[i].name, f.names); err != nil {
				return err
			}
			continue
		}
		if n.nodes[i].shape == null && (f.list[at].required || !f.list[at].nullable) {
			continue
		}
		came |= 1 << at
		if err := f.list[at].fill(b, v, &n.nodes[i]); err != nil {
			return err
		}
	}
	return f.complete(b, v, came)
}

// setOpen fills a struct that has a field "*" (see plan). This field receives the members without a
// field of their own. Unless the request is strict, it receives only readable members.
func (f *fields) setOpen(b *binding, v reflect.Value, n *node) error {
	whole := f.find(anyKey)
	named, rest := node{shape: object}, node{shape: object}
	for _, member := range n.nodes {
		if f.find(member.name) != nil && member.name != anyKey {
			named.nodes = append(named.nodes, member)
			continue
		}
		if err := b.misspelt(member.name, f.names); err != nil {
			return err
		}
		if b.strict || whole.readable(&member) {
			rest.nodes = append(rest.nodes, member)
		} else {
			b.unread = append(b.unread, member)
		}
	}
	if err := whole.set(b, v.FieldByIndex(whole.index), &rest); err != nil {
		return err
	}
	return f.set(b, v, &named)
}

// readable reports whether the field "*" can receive a member. A field that also receives query
// parameters can receive only texts and numbers, because clients of this API family send flags and
// nulls under unknown names. A number becomes a text of its digits, because clients send codes
// without quotes.
func (f *field) readable(member *node) bool {
	if !f.queried {
		return true
	}
	if member.shape == number {
		member.shape = text
	}
	return member.shape == text || member.shape == loose
}

// complete handles the fields that the request does not have.
func (f *fields) complete(b *binding, v reflect.Value, came uint64) error {
	for i := range f.list {
		if came&(1<<i) != 0 {
			continue
		}
		if f.list[i].required {
			b.path.enter(memberStep(f.list[i].name))
			return passerelle.MissingField(b.path.String(), "is required")
		}
		if f.list[i].standard == nil {
			continue
		}
		if err := f.list[i].fill(b, v, f.list[i].standard); err != nil {
			return err
		}
	}
	return nil
}

func (f *field) fill(b *binding, v reflect.Value, n *node) error {
	b.path.enter(memberStep(f.name))
	if err := f.set(b, v.FieldByIndex(f.index), n); err != nil {
		return err
	}
	b.path.leave()
	return nil
}

// unknown handles a name that is not declared. It ignores the name unless the request is strict,
// because clients of this API family send additional names. It always refuses a name that differs
// only in case from a known name, because the value of an ignored name is lost.
func (b *binding) unknown(name string, known []string) error {
	if err := b.misspelt(name, known); err != nil || !b.strict {
		return err
	}
	b.path.enter(memberStep(name))
	return b.path.invalid("unknown%s", hint(name, known))
}

func (b *binding) misspelt(name string, known []string) error {
	same := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) && k != name })
	if same < 0 {
		return nil
	}
	b.path.enter(memberStep(name))
	return b.path.invalid("unknown name; names are case-sensitive, and this one is written %q", known[same])
}

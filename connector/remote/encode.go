package remote

import (
	"encoding"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/govalues/decimal"

	"passerelle"
)

// The bodies of the protocol are Go types of this package. Their fields have types of packages
// connector, payment and passerelle. In JSON, the fields have their names in snake_case, except
// those in the map irregular. Zero values are omitted, except decimal numbers, so a program sends
// only the values that it has.

// money is the amount of an instruction in JSON.
type money struct {
	Value    string
	Currency passerelle.Currency
}

// irregular maps Go fields to names in JSON that are not their names in snake_case.
var irregular = map[string]string{
	"DateTime": "datetime", "VDate": "vdate", "RDate": "rdate", "BDate": "bdate",
	"VDateTime": "vdatetime", "RDateTime": "rdatetime", "BDateTime": "bdatetime", "URLs": "urls", "IBANs": "ibans", "BICs": "bics",
}

// nameOf returns the name of a field in the protocol.
func nameOf(field string) string {
	if name, known := irregular[field]; known {
		return name
	}
	var name strings.Builder
	letters := []rune(field)
	for i, r := range letters {
		follows := i > 0 && !unicode.IsUpper(letters[i-1])
		begins := i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1])
		if unicode.IsUpper(r) && (follows || begins) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	return name.String()
}

// member is a struct field in the protocol.
type member struct {
	// key is the quoted name with its colon.
	key   string
	name  string
	index []int
	field reflect.StructField
}

var memberCache sync.Map // the keys are of type reflect.Type, the values of type []member

// membersOf lists the fields of a struct type, including the fields of embedded structs. A field
// hides the field with the same name in an embedded struct. Functions are not part of the protocol.
func membersOf(t reflect.Type) []member {
	if known, found := memberCache.Load(t); found {
		return known.([]member) //nolint:errcheck,forcetypeassert // the map stores nothing else
	}
	var list []member
	for _, f := range reflect.VisibleFields(t) {
		direct, _ := t.FieldByName(f.Name)
		if f.Anonymous || !f.IsExported() || f.Type.Kind() == reflect.Func || !slices.Equal(direct.Index, f.Index) {
			continue
		}
		name := nameOf(f.Name)
		list = append(list, member{strconv.Quote(name) + ":", name, f.Index, f})
	}
	memberCache.Store(t, list)
	return list
}

// encode returns a body as JSON.
func encode(body any) ([]byte, error) { return appendValue(nil, reflect.ValueOf(body)) }

// written maps types to the functions that encode them. The JSON of these types does not follow
// from their kind.
var written = map[reflect.Type]func([]byte, any) ([]byte, error){
	reflect.TypeFor[passerelle.Money](): func(b []byte, v any) ([]byte, error) {
		m, _ := v.(passerelle.Money)
		b = append(append(b, `{"value":"`...), m.Decimal()...)
		return append(append(append(b, `","currency":"`...), m.Currency...), `"}`...), nil
	},
	reflect.TypeFor[time.Duration](): func(b []byte, v any) ([]byte, error) {
		d, _ := v.(time.Duration)
		return jsontext.AppendQuote(b, d.String())
	},
	reflect.TypeFor[time.Time](): func(b []byte, v any) ([]byte, error) {
		t, _ := v.(time.Time)
		return jsontext.AppendQuote(b, t.UTC().Format(time.RFC3339Nano))
	},
	reflect.TypeFor[decimal.Decimal](): func(b []byte, v any) ([]byte, error) {
		d, _ := v.(decimal.Decimal)
		return jsontext.AppendQuote(b, d.String())
	},
	reflect.TypeFor[[]byte](): func(b []byte, v any) ([]byte, error) {
		raw, _ := v.([]byte)
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), raw), '"'), nil
	},
}

func appendValue(b []byte, v reflect.Value) ([]byte, error) {
	if v.Kind() == reflect.Pointer {
		return appendValue(b, v.Elem())
	}
	if write := written[v.Type()]; write != nil {
		return write(b, v.Interface())
	}
	if text, able := v.Interface().(encoding.TextMarshaler); able {
		plain, err := text.MarshalText()
		if err != nil {
			return b, err
		}
		return jsontext.AppendQuote(b, plain)
	}
	switch v.Kind() {
	case reflect.String:
		return jsontext.AppendQuote(b, strings.ToValidUTF8(v.String(), "\uFFFD"))
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), nil
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case reflect.Slice:
		return appendList(b, v)
	case reflect.Map:
		return appendMap(b, v)
	case reflect.Struct:
		return appendObject(b, v)
	default:
		return b, fmt.Errorf("the protocol has no %s", v.Type())
	}
}

func appendList(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '[')
	var err error
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, v.Index(i)); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func appendMap(b []byte, v reflect.Value) ([]byte, error) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, key); err != nil {
			return b, err
		}
		if b, err = appendValue(append(b, ':'), v.MapIndex(key)); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// amountType is the only type whose zero value is also written. A missing amount must not be read
// as zero.
var amountType = reflect.TypeFor[decimal.Decimal]()

func appendObject(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '{')
	first := true
	for _, m := range membersOf(v.Type()) {
		value := v.FieldByIndex(m.index)
		if value.IsZero() && value.Type() != amountType {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		var err error
		if b, err = appendValue(append(b, m.key...), value); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

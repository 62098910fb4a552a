// Package output prints the results of commands. It owns the form of results: JSON for programs, and
// aligned lines for people. It does not own messages, progress and exit codes. It fails only when
// the writer fails, or when a result has no form in JSON.
package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Print prints a result, which is a struct or a slice of structs with JSON names. It prints one line
// of JSON if asJSON is set. Otherwise it prints a name and a value on each line, and an empty line
// between the structs of a slice.
func Print(w io.Writer, result any, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(result)
	}
	value := reflect.ValueOf(result)
	if value.Kind() != reflect.Slice {
		return printOne(w, value)
	}
	separator := ""
	for i := range value.Len() {
		_, err := io.WriteString(w, separator)
		if err = errors.Join(err, printOne(w, value.Index(i))); err != nil {
			return err
		}
		separator = "\n"
	}
	return nil
}

// printOne prints the fields of a struct by their JSON names, without empty fields and lists. It
// prints the number zero and the value false unless omitempty is set, because they may be results,
// such as the number of due events. It aligns the lines of a value.
func printOne(w io.Writer, value reflect.Value) error {
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	for i := range value.NumField() {
		name, option, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		field := value.Field(i)
		result := field.CanInt() || field.Kind() == reflect.Bool
		text := strings.ReplaceAll(lines(field), "\n", "\n"+strings.Repeat(" ", 17))
		if text != "" && (!field.IsZero() || result && option == "") {
			if _, err := fmt.Fprintf(w, "%-16s %s\n", name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// lines returns a value as text for people. The items of a list are on one line if each item is one
// word, and otherwise on a line each.
func lines(value reflect.Value) string {
	for value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	if value.Kind() != reflect.Slice {
		return fmt.Sprint(value)
	}
	items, separator := make([]string, value.Len()), ", "
	for i := range items {
		if items[i] = fmt.Sprint(value.Index(i)); strings.Contains(items[i], " ") {
			separator = "\n"
		}
	}
	return strings.Join(items, separator)
}

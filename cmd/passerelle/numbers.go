package main

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"passerelle"
)

// negative matches an argument that is a number or a duration below zero.
var negative = regexp.MustCompile(`^-\.?[0-9]`)

// withNegatives rewrites negative numbers, which kong would read as short flags. A number after a
// flag with a value becomes the value of this flag. Any other number moves behind "--", where kong
// reads no flags. The program can then say which values are valid.
func withNegatives(model *kong.Application, args []string) []string {
	valued := map[string]bool{}
	eachFlag(model.Node, func(flag *kong.Flag) {
		if !flag.IsBool() && !flag.IsCounter() {
			valued["--"+flag.Name] = true
		}
	})
	flags, rest := args, []string(nil)
	if end := slices.Index(args, "--"); end >= 0 {
		flags, rest = args[:end], args[end+1:]
	}
	var before, after []string
	for i, arg := range flags {
		switch {
		case !negative.MatchString(arg):
			before = append(before, arg)
		case i > 0 && valued[flags[i-1]]:
			before[len(before)-1] += "=" + arg
		default:
			after = append(after, arg)
		}
	}
	if len(after)+len(rest) == 0 {
		return before
	}
	return slices.Concat(before, []string{"--"}, after, rest)
}

// checkRanges fails when the value of a flag is below the tag `least` of the flag, or above its tag
// `most`. Each item of a list must be in the range.
func checkRanges(command *kong.Context) error {
	for _, flag := range command.Flags() {
		least, most := flag.Tag.Get("least"), flag.Tag.Get("most")
		for _, value := range numbersIn(flag.Target) {
			switch {
			case least == "" || value >= bound(least) && (most == "" || value <= bound(most)):
			case most == "":
				return passerelle.InvalidField("--"+flag.Name, "must be at least %s", least)
			default:
				return passerelle.InvalidField("--"+flag.Name, "must be from %s to %s", least, most)
			}
		}
	}
	return nil
}

// numbersIn returns the numbers in the value of a flag. A duration counts in nanoseconds.
func numbersIn(value reflect.Value) []float64 {
	switch {
	case value.CanInt():
		return []float64{float64(value.Int())}
	case value.CanUint():
		return []float64{float64(value.Uint())}
	case value.CanFloat():
		return []float64{value.Float()}
	case value.Kind() != reflect.Slice:
		return nil
	}
	var all []float64
	for i := range value.Len() {
		all = append(all, numbersIn(value.Index(i))...)
	}
	return all
}

// bound returns the number in a tag, which is a number or a duration.
func bound(text string) float64 {
	if duration, err := time.ParseDuration(text); err == nil {
		return float64(duration)
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("the bound " + text + " of a flag is neither a number nor a duration")
	}
	return number
}

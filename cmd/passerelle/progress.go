package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// counter shows progress on one line, which each call overwrites, until it is stopped. It
// writes to terminals only: in a file, the lines would disturb.
func counter(out io.Writer) (func(text string), func()) {
	if !isTerminal(out) {
		return func(string) {}, func() {}
	}
	return func(text string) { fmt.Fprintf(out, "\r%s\033[K", text) }, func() { fmt.Fprint(out, "\r\033[K") }
}

func isTerminal(out io.Writer) bool {
	file, is := out.(*os.File)
	if !is {
		return false
	}
	stat, err := file.Stat()
	return err == nil && stat.Mode()&os.ModeCharDevice != 0
}

// watch shows how large a file has grown, until it is called off.
func watch(out io.Writer, file string) func() {
	show, clear := counter(out)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-over:
				clear()
				return
			case <-tick.C:
				show(size(file))
			}
		}
	}()
	return func() { close(over); <-ended }
}

// size is how large a file is, in words.
func size(file string) string {
	stat, err := os.Stat(file)
	if err != nil {
		return "nothing written yet"
	}
	return fmt.Sprintf("%.1f MB written", float64(stat.Size())/1e6)
}

//go:build ignore

// A connector that reads accounts and transactions from a folder.
//
// Each file NAME.csv is an account. Its lines have a day, an amount and a wording, or are blank.
// Usage: SECRET=... go run source.go protocol.go PORT FOLDER
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

var (
	port, folder = commandLine()
	profile      = object{
		"uuid": "7c2b9e50-1f4a-4a8d-8e35-60b7d9f1c284", "name": "Folder", "countries": []string{"FR"},
		"data": object{"capabilities": []string{"bank"}, "account_types": []string{"checking"}},
	}
)

func accounts([]byte, func(object)) object {
	files, err := filepath.Glob(filepath.Join(folder, "*.csv"))
	must(err)
	list := []object{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".csv")
		list = append(list, object{"key": name, "name": name, "type": "checking", "currency": "EUR"})
	}
	return object{"accounts": list}
}

func read(body []byte, send func(object)) object {
	var wanted struct {
		Accounts []struct{ Account, From string }
	}
	must(json.Unmarshal(body, &wanted))
	for _, a := range wanted.Accounts {
		file, err := os.Open(filepath.Join(folder, filepath.Base(a.Account)+".csv"))
		must(err)
		lines := bufio.NewScanner(file)
		for number := 0; lines.Scan(); number++ {
			if lines.Text() == "" {
				continue
			}
			fields := strings.SplitN(lines.Text(), ",", 3)
			if len(fields) < 3 {
				must(fmt.Errorf("%s, line %d: must have a day, an amount and a wording", file.Name(), number+1))
			}
			if fields[0] >= a.From {
				send(object{"account": a.Account, "transactions": []object{
					{"key": strconv.Itoa(number), "date": fields[0], "value": fields[1], "wording": fields[2]},
				}})
			}
		}
		must(lines.Err())
		must(file.Close())
		end := object{"account": a.Account, "read": true}
		if a.From != "" {
			end["from"] = a.From
		}
		send(end)
	}
	send(object{"end": object{}})
	return nil
}

func main() {
	describe := func([]byte, func(object)) object { return profile }
	serve(port, map[string]call{"profile": describe, "accounts": accounts, "read": read}, nil)
}

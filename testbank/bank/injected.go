package bank

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Injected is a fault that the tester requested for later calls. A restart removes it.
type Injected struct {
	ID int `json:"id"`
	// Call selects calls by a method and a part of the path under /v1, such as "GET /accounts".
	// Empty means every call.
	Call string `json:"call"`
	// A fault has exactly one effect: a Wire, a Code of the standard, a Status without a body, or a
	// Delay.
	Wire   Wire   `json:"wire,omitempty"`
	Code   string `json:"code,omitempty"`
	Status int    `json:"status,omitempty"`
	// Delay is how long the bank waits before it continues as usual, in milliseconds.
	Delay int `json:"delay_ms,omitempty"`
	// Times is the number of calls that the fault will still affect. Zero means all calls until the
	// fault is removed.
	Times int `json:"times,omitempty"`
	// Hits is the number of calls that the fault has affected.
	Hits int `json:"hits"`
}

// Faults holds the injected faults of a bank.
type Faults struct {
	mu   sync.Mutex
	last int
	all  []*Injected
}

// Wires lists all ways in which a response can fail.
func Wires() []Wire {
	return []Wire{Slow, Hang, Lost, Cut, Malformed, Huge, Deep, Elsewhere, Gone, Duplicates}
}

// Add injects a fault, unless the fault is invalid.
func (f *Faults) Add(one Injected) (Injected, error) {
	if err := one.check(); err != nil {
		return one, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	one.ID, one.Hits = f.last, 0
	f.all = append(f.all, &one)
	return one, nil
}

func (i Injected) check() error {
	asked := count(i.Wire != "", i.Code != "", i.Status != 0, i.Delay != 0)
	_, known := codeStatus[i.Code]
	return firstBroken(
		rule{asked != 1, wrongFormat("fault", "exactly one of wire, code, status and delay_ms is given")},
		rule{i.Wire != "" && !slices.Contains(Wires(), i.Wire), wrongFormat("wire", "there is no such failure")},
		rule{i.Code != "" && !known, wrongFormat("code", "the standard has no such code")},
		rule{i.Status != 0 && (i.Status < 400 || i.Status > 599), wrongFormat("status", "a refusal is 400 to 599")},
		rule{i.Delay < 0 || i.Times < 0, wrongFormat("times", "numbers are not below zero")},
	)
}

// count returns how many of the conditions hold.
func count(conditions ...bool) int {
	n := 0
	for _, holds := range conditions {
		if holds {
			n++
		}
	}
	return n
}

// List returns the injected faults.
func (f *Faults) List() []Injected {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []Injected{}
	for _, one := range f.all {
		all = append(all, *one)
	}
	return all
}

// Clear removes all faults.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = nil
}

// Meet returns the fault for a call, if there is one, and counts the call.
func (f *Faults) Meet(method, path string) (Injected, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, one := range f.all {
		wantMethod, wantPath, _ := strings.Cut(one.Call, " ")
		if one.Call != "" && (wantMethod != method || !strings.Contains(path, wantPath)) {
			continue
		}
		one.Hits++
		if one.Times > 0 {
			if one.Times--; one.Times == 0 {
				f.all = slices.Delete(f.all, i, i+1)
			}
		}
		return *one, true
	}
	return Injected{}, false
}

// Wait returns the delay of a fault.
func (i Injected) Wait() time.Duration { return time.Duration(i.Delay) * time.Millisecond }

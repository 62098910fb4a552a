package presence_test

import (
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"passerelle"
	"passerelle/connector"
	"passerelle/internal/presence"
)

// TestDevicesAreForgotten checks that a device leaves the memory when it is taken, or at the end of
// its user's presence. The presence must begin anew with each act of the user.
func TestDevicesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var devices presence.Devices
		one := connector.Device{Address: netip.MustParseAddr("192.0.2.1"), UserAgent: "browser"}
		devices.Note(1, one, time.Now())
		<-time.After(4 * time.Minute)
		devices.Note(1, one, time.Now())
		<-time.After(4 * time.Minute)
		if got := devices.Take(1, time.Now()); got != one {
			t.Errorf("four minutes after an act: %+v, want %+v", got, one)
		}
		if got := devices.Take(1, time.Now()); got != (connector.Device{}) {
			t.Errorf("taken twice: %+v", got)
		}
		devices.Note(2, one, time.Now())
		<-time.After(6 * time.Minute)
		if got := devices.Take(2, time.Now().Add(-5*time.Minute)); got != (connector.Device{}) {
			t.Errorf("six minutes after the last act, still stored: %+v", got)
		}
	})
}

// TestDevicesTakeABoundedMemory notes many devices with a day between them. They must use at most 4
// MiB of memory in all.
func TestDevicesTakeABoundedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var devices presence.Devices
		before := heap()
		for id := range passerelle.ConnectionID(200) {
			devices.Note(id, connector.Device{UserAgent: string(make([]byte, 100_000))}, time.Now())
			<-time.After(24 * time.Hour)
		}
		if grown := int64(heap()) - int64(before); grown > 4<<20 {
			t.Errorf("%d MiB for users who are gone", grown>>20)
		}
		runtime.KeepAlive(&devices)
	})
}

// TestRepeatedActsTakeTheMemoryOfOne notes a device of the same connection again and again. Only the
// last device may stay in memory, also while the devices before it would still be recent.
func TestRepeatedActsTakeTheMemoryOfOne(t *testing.T) {
	for name, act := range map[string]func(*presence.Devices){
		"noted":           func(*presence.Devices) {},
		"noted and taken": func(d *presence.Devices) { d.Take(1, time.Now()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var devices presence.Devices
				before := heap()
				for range 200 {
					devices.Note(1, connector.Device{UserAgent: string(make([]byte, 100_000))}, time.Now())
					act(&devices)
				}
				if grown := int64(heap()) - int64(before); grown > 4<<20 {
					t.Errorf("%d MiB for one user", grown>>20)
				}
				runtime.KeepAlive(&devices)
			})
		})
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

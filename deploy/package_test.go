//go:build release

package deploy_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// machine returns the folder of a minimal Debian with systemd, which tests do not change.
// PASSERELLE_TEST_MACHINE can name a folder that was made before.
var machine = sync.OnceValues(func() (string, error) {
	if folder := os.Getenv("PASSERELLE_TEST_MACHINE"); folder != "" {
		return folder, nil
	}
	root := filepath.Join(work, "machine")
	return root, run(".", nil, "debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv,dbus,curl", "bookworm", root)
})

// boot runs a bash script as root on the minimal machine with systemd, and returns the script's
// output. The script finds the package and the files in /test.
func boot(t *testing.T, script string, files map[string]string) string {
	t.Helper()
	root, err := machine()
	if err != nil {
		t.Fatal(err)
	}
	shared := t.TempDir()
	if err := run(".", nil, "cp", one(t, "*_"+debianArch+".deb"), shared); err != nil {
		t.Fatal(err)
	}
	// The documented commands use sudo, but the machine has no sudo, and the script already runs as
	// root.
	files["run"] = "#!/bin/bash\nset -euxo pipefail\ncd /test\nsudo() { \"$@\"; }\n" + script + "\necho finished\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(shared, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	unit := filepath.Join(shared, "unit")
	if err := os.WriteFile(unit, []byte(testUnit), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "systemd-nspawn", "--quiet", "--directory", root, "--volatile=overlay", "--register=no", "--keep-unit", "--private-network",
		"--bind", shared+":/test", "--bind-ro", unit+":/etc/systemd/system/test.service", "--boot", "systemd.wants=test.service")
	command.Env = append(os.Environ(), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1")
	console, err := command.CombinedOutput()
	out, _ := os.ReadFile(filepath.Join(shared, "out"))
	if err != nil || !strings.HasSuffix(string(out), "\nfinished\n") {
		t.Fatalf("the script did not finish: %v\n%s\nthe console:\n%s", err, out, console)
	}
	return string(out)
}

const debianArch = "amd64"

const testUnit = `[Unit]
After=dbus.service

[Service]
Type=oneshot
ExecStart=/test/run
ExecStopPost=/bin/systemctl --no-block poweroff
StandardOutput=append:/test/out
StandardError=append:/test/out
TimeoutStartSec=1200
`

// older makes a package with a lower version. The package is not compressed, because compression
// can take longer than the rest of the test.
const older = `
dpkg-deb -R passerelle_*.deb older
sed -i 's/^Version: .*/Version: 0.0.0~a/' older/DEBIAN/control
dpkg-deb -Znone -b older older.deb
`

const checks = `
fail() { echo "FAILED: $*"; exit 1; }
healthy() { curl --silent --fail --retry 30 --retry-connrefused --retry-delay 1 --output /dev/null http://127.0.0.1:8080/readyz; }
state() { systemctl show passerelle --property "$1" --value; }
`

// TestDebianPackage installs, starts, upgrades, removes and purges the package on a machine
// with systemd.
func TestDebianPackage(t *testing.T) {
	boot(t, older+checks+`
dpkg -i older.deb
# The package has the service started, and systemd knows that it is ready.
[ "$(state ActiveState)" = active ] || fail "not started"
[ "$(state Type)" = notify ] || fail "does not notify"
[ "$(state RestartUSec)" = 5s ] && [ "$(state StartLimitIntervalUSec)" = 0 ] || fail "systemd gives up"
[ "$(systemctl is-enabled passerelle)" = enabled ] || fail "not enabled"
healthy
[ "$(stat -c '%U %a' /etc/passerelle/keys)" = "passerelle 600" ] || fail "keys are open"
[ "$(stat -c '%U %a' /var/lib/passerelle)" = "passerelle 700" ] || fail "data is open"
[ "$(stat -c %U "/proc/$(state MainPID)")" = passerelle ] || fail "another user"
tr '\0' '\n' <"/proc/$(state MainPID)/environ" | grep '^PASSERELLE_KEY_FILE=/run/credentials/passerelle.service/keys$' >/dev/null || fail "no credential"
passerellectl config check
passerellectl client create --name shop >/dev/null
[ "$(find /var/lib/passerelle ! -user passerelle | wc -l)" = 0 ] || fail "files of another user"

# A service that hangs is started again.
before=$(state MainPID)
kill -STOP "$before"
for _ in $(seq 120); do [ "$(state NRestarts)" = 1 ] && break; sleep 1; done
[ "$(state NRestarts)" = 1 ] || fail "the watchdog did nothing"
healthy

# systemd rates what the service may do.
systemd-analyze security passerelle --no-pager --threshold=20 >/dev/null || fail "too many rights"

# An upgrade keeps settings, keys and data, and starts the new program.
echo '# kept' >>/etc/passerelle/passerelle.conf
keys=$(sha256sum /etc/passerelle/keys)
before=$(state MainPID)
dpkg -i passerelle_*.deb
healthy
[ "$(state MainPID)" != "$before" ] || fail "not restarted"
grep -qx '# kept' /etc/passerelle/passerelle.conf || fail "settings lost"
[ "$(sha256sum /etc/passerelle/keys)" = "$keys" ] || fail "keys changed"
passerellectl client list | grep shop >/dev/null || fail "data lost"

# A reload does not end the service, even without a folder of banks.
before=$(state MainPID)
systemctl reload passerelle
sleep 1
healthy
[ "$(state MainPID)" = "$before" ] || fail "a reload restarted the service"

# The service's user and root can rotate keys. The service can read the new file.
passerellectl keys rotate --json >/dev/null
/usr/bin/passerelle keys rotate --key-file /etc/passerelle/keys >/dev/null
[ "$(stat -c '%U %G %a' /etc/passerelle/keys)" = "passerelle passerelle 600" ] || fail "the new key file has another owner"
[ "$(passerellectl keys list --json | grep -o '"id"' | wc -l)" = 3 ] || fail "keys lost"
# That user cannot replace the files of root.
[ "$(stat -c '%U %G %a' /etc/passerelle)" = "root passerelle 1770" ] || fail "the folder of the settings"
! runuser -u passerelle -- mv /etc/passerelle/passerelle.conf /etc/passerelle/moved || fail "the service's user can replace the settings"
! runuser -u passerelle -- rm -f /etc/passerelle/passerelle.conf || fail "the service's user can remove the settings"
systemctl restart passerelle
healthy

# An upgrade keeps a key file that root owns and the group may read.
chown root:passerelle /etc/passerelle/keys
chmod 640 /etc/passerelle/keys
dpkg -i passerelle_*.deb
healthy
[ "$(stat -c '%U %G %a' /etc/passerelle/keys)" = "root passerelle 640" ] || fail "an upgrade gave the key file another owner"
passerellectl keys list >/dev/null

# An upgrade leaves a service alone that an operator has stopped and disabled.
systemctl disable --now passerelle
dpkg -i older.deb
dpkg -i passerelle_*.deb
[ "$(state ActiveState)" = inactive ] || fail "an upgrade started a stopped service"
[ "$(systemctl is-enabled passerelle)" = disabled ] || fail "an upgrade enabled a disabled service"
systemctl enable --now passerelle
healthy

# A service that cannot start does not make an upgrade fail. systemd tries again without a limit.
mkdir -p /etc/systemd/system/passerelle.service.d
printf '[Service]\nRestartSec=100ms\nEnvironment=PASSERELLE_DATABASE=sqlite:/nowhere/passerelle.db\n' >/etc/systemd/system/passerelle.service.d/wrong.conf
dpkg -i passerelle_*.deb || fail "an upgrade fails with the service"
for _ in $(seq 60); do [ "$(state NRestarts)" -gt 8 ] && break; sleep 1; done
[ "$(state NRestarts)" -gt 8 ] || fail "systemd gave up"
rm -r /etc/systemd/system/passerelle.service.d
systemctl daemon-reload
healthy

# The commands complete, and there is a manual.
bash -c 'source /usr/share/bash-completion/completions/passerellectl; COMP_WORDS=(passerellectl client cr); COMP_CWORD=2; _passerelle; echo "${COMPREPLY[@]}"' | grep -x create >/dev/null || fail "no completion"
[ -s /usr/share/zsh/vendor-completions/_passerelle ] && [ -s /usr/share/fish/vendor_completions.d/passerelle.fish ] || fail "no completion"
[ -s /usr/share/passerelle/alerts.yml ] && [ -s /usr/share/passerelle/dashboard.json ] || fail "no alerts or no dashboard"

# Removing leaves settings and data, purging asks about data.
dpkg -r passerelle
[ "$(state ActiveState)" = inactive ] || fail "still runs"
[ -e /etc/passerelle/passerelle.conf ] && [ -e /var/lib/passerelle/passerelle.db ] || fail "data lost"
dpkg -P passerelle </dev/null
[ ! -e /etc/passerelle/passerelle.conf ] && [ -e /etc/passerelle/keys ] && [ -e /var/lib/passerelle/passerelle.db ] || fail "purged too much or too little"
dpkg -i passerelle_*.deb
[ "$(state ActiveState)" = active ] || fail "not started"
passerellectl client list | grep shop >/dev/null || fail "data lost"
echo n | script -qec 'dpkg -P passerelle' /dev/null
[ -e /var/lib/passerelle/passerelle.db ] || fail "purged against the answer"
dpkg -i passerelle_*.deb
echo y | script -qec 'dpkg -P passerelle' /dev/null
[ ! -e /var/lib/passerelle ] && [ ! -e /etc/passerelle/keys ] || fail "not purged"
`, map[string]string{})
}

func shBlocks(t *testing.T, page, section string) string {
	t.Helper()
	text := string(content(t, filepath.Join("..", page)))
	_, text, found := strings.Cut(text, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	if !found {
		t.Fatalf("%s has no section %q", page, section)
	}
	var all []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		all = append(all, block[1])
	}
	return strings.Join(all, "\n")
}

// TestInstallationLeadsToAPayment runs exactly the commands of docs/install.md on a minimal
// machine. The first payment needs at most six commands and two minutes.
func TestInstallationLeadsToAPayment(t *testing.T) {
	commands := shBlocks(t, "docs/install.md", "From the package")
	// An indented line continues a command.
	if n := len(regexp.MustCompile(`(?m)^\S`).FindAllString(commands, -1)); n == 0 || n > 6 {
		t.Errorf("it takes %d commands", n)
	}
	out := boot(t, "start=$SECONDS\n"+commands+"\necho; echo took $((SECONDS - start)) seconds\n[ $((SECONDS - start)) -le 120 ]\n", map[string]string{})
	t.Log(regexp.MustCompile(`took \d+ seconds`).FindString(out))
	if !strings.Contains(out, `"state":"created"`) {
		t.Errorf("there is no payment: %s", out)
	}
}

// TestRPM installs, upgrades and removes the RPM in a separate root folder. systemd does not run
// there, so the test runs commands of the program instead of the service.
func TestRPM(t *testing.T) {
	root, err := machine()
	if err != nil {
		t.Fatal(err)
	}
	shared := t.TempDir()
	script := "set -euxo pipefail\n" + checks + `
mkdir upper work root
mount -t overlay overlay -o "lowerdir=$1,upperdir=upper,workdir=work" root
mount -t proc proc root/proc
mount --bind /dev root/dev
rpm() { command rpm --root "$PWD/root" "$@"; }
place() { rpm --nodeps --ignorearch --ignoreos "$@"; }
in_root() { chroot root "$@"; }
rpm --initdb
place -i "$2"
rpm -q passerelle
[ "$(rpm -qc passerelle)" = /etc/passerelle/passerelle.conf ] || fail "the settings are no configuration"
[ "$(in_root systemctl is-enabled passerelle)" = enabled ] || fail "not enabled without systemd"
rpm -ql passerelle | grep -x /usr/share/zsh/site-functions/_passerelle >/dev/null || fail "no completion"
[ -s root/usr/share/passerelle/alerts.yml ] && [ -s root/usr/share/passerelle/dashboard.json ] || fail "no alerts or no dashboard"
[ "$(in_root stat -c '%U %a' /etc/passerelle/keys)" = "passerelle 600" ] || fail "keys are open"
[ "$(in_root stat -c '%U %a' /var/lib/passerelle)" = "passerelle 700" ] || fail "data is open"
in_root passerellectl config check
in_root passerellectl migrate
keys=$(sha256sum root/etc/passerelle/keys)
echo '# kept' >>root/etc/passerelle/passerelle.conf
in_root systemctl disable passerelle
place -U --force "$2"
[ "$(in_root systemctl is-enabled passerelle)" = disabled ] || fail "an upgrade enabled a disabled service"
grep -qx '# kept' root/etc/passerelle/passerelle.conf || fail "settings lost"
[ "$(sha256sum root/etc/passerelle/keys)" = "$keys" ] || fail "keys changed"
[ -x root/usr/bin/passerelle ] || fail "the upgrade removed the program"
rpm --nodeps -e passerelle
[ ! -e root/usr/bin/passerelle ] || fail "the program is still there"
[ -e root/etc/passerelle/keys ] && [ -e root/var/lib/passerelle/passerelle.db ] || fail "data lost"
`
	out, err := runIn(shared, "unshare", "--mount", "bash", "-c", script, "rpm", root, one(t, "*x86_64.rpm"))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestPackagedProgramIsUpgradedUnderLoad runs TestUpgradeUnderLoad with the program in the Debian
// package.
func TestPackagedProgramIsUpgradedUnderLoad(t *testing.T) {
	folder := t.TempDir()
	if err := run(".", nil, "dpkg-deb", "-x", one(t, "*_"+debianArch+".deb"), folder); err != nil {
		t.Fatal(err)
	}
	previous := os.Getenv("PASSERELLE_TEST_PREVIOUS")
	if previous == "" {
		path, err := exec.CommandContext(t.Context(), "../scripts/previous-version").Output()
		if err != nil {
			t.Fatal(err)
		}
		previous = strings.TrimSpace(string(path))
	}
	test := exec.CommandContext(t.Context(), "go", "test", "-tags", "torture", "-count=1", "-v", "-timeout", "30m", "-run", "^TestUpgradeUnderLoad$", "./internal/servicetest")
	test.Dir, test.Env = "..", append(os.Environ(), "PASSERELLE_TEST_PROGRAM="+filepath.Join(folder, "usr/bin/passerelle"), "PASSERELLE_TEST_PREVIOUS="+previous)
	out, err := test.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestUpgradeUnderLoad") {
		t.Fatalf("%v: %s", err, out)
	}
	t.Log(regexp.MustCompile(`(?m)^ +\S+_test\.go:\d+: .*$`).FindAllString(string(out), -1))
}

func runIn(folder, name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Dir = folder
	out, err := command.CombinedOutput()
	return string(out), err
}

// TestManualAndCompletionsAreUnderstood: man can read the manual page in the package, and the
// shells can read its completions.
func TestManualAndCompletionsAreUnderstood(t *testing.T) {
	folder := t.TempDir()
	if err := run(".", nil, "dpkg-deb", "-x", one(t, "*_"+debianArch+".deb"), folder); err != nil {
		t.Fatal(err)
	}
	share := filepath.Join(folder, "usr/share")
	for _, command := range [][]string{
		{"bash", "-n", filepath.Join(share, "bash-completion/completions/passerelle")},
		{"zsh", "-n", filepath.Join(share, "zsh/vendor-completions/_passerelle")},
		{"fish", "--no-execute", filepath.Join(share, "fish/vendor_completions.d/passerelle.fish")},
	} {
		if err := run(".", nil, command[0], command[1:]...); err != nil {
			t.Error(err)
		}
	}
	page, err := runIn(folder, "man", "--local-file", "--warnings", filepath.Join(share, "man/man1/passerelle.1.gz"))
	if err != nil || !strings.Contains(page, "PASSERELLE_KEY_FILE") || strings.Contains(page, "warning:") {
		t.Errorf("%v: %.500s", err, page)
	}
	completed, err := runIn(folder, "fish", "--no-config", "--command", "source "+filepath.Join(share, "fish/vendor_completions.d/passerelle.fish")+"; complete --do-complete 'passerelle client cr'")
	if err != nil || strings.TrimSpace(completed) != "create" {
		t.Errorf("fish completes %q, %v", completed, err)
	}
}

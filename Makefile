# There is one target for each task. Most tasks that need more than one line are in scripts/. `make`
# without a target lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

FUZZTIME ?= 10s
LINT := go tool -modfile=tools.mod golangci-lint

# COMMITTED is the time of the commit, not of the build. The same source then results in the same
# binary.
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMITTED := $(shell git log -1 --format=%cI 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.committed=$(COMMITTED)

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 15

.PHONY: run
run: ## run the whole service on this machine, as `passerelle dev`
	go run ./cmd/passerelle dev

.PHONY: build
build: ## build bin/passerelle, statically linked
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/passerelle ./cmd/passerelle

.PHONY: release
release: ## make archives, packages, bill of materials and checksums of this commit, in dist
	scripts/release dist

.PHONY: release-test
release-test: ## build a release twice, and install and run its packages and images (root, minutes)
	scripts/install-tools postgres release
	scripts/with-postgres go test -tags release -v -count=1 -timeout 1h ./deploy

.PHONY: test
test: tools ## run the tests on both databases and in a browser, without scripts/long-tests (minutes)
	scripts/test short

.PHONY: race
race: tools ## run the tests of code that shares data between goroutines, with the race detector
	scripts/test race

# The packages of the tools are fetched while the linter is compiled.
.PHONY: verify
verify: ## run check and all tests: everything that must pass
	$(MAKE) -j 2 check tools
	scripts/test all

.PHONY: torture
torture: export PASSERELLE_TEST_PAUSE := 0s
torture: tools ## run the race detector, and the random tests at full length (hours)
	$(MAKE) race
	scripts/with-postgres go test -v -count=1 -timeout 1h -run '^TestListIsThatOfTheReference$$' ./internal/store -rapid.checks=100000
	go test -count=1 -timeout 1h ./cfonb ./payment ./internal/web -rapid.checks=20000
	go test -count=1 -timeout 1h -run '^TestBooksAddUp$$' ./testbank -rapid.checks=2000
	scripts/fuzz 1m
	PASSERELLE_TEST_BANK_KILLS=200 go test -v -count=1 -timeout 30m -run '^TestAKilledBankForgetsNothing$$' ./testbank
	PASSERELLE_TEST_BANK_KILLS=200 scripts/with-postgres go test -v -count=1 -timeout 4h -run '^TestABankBooksOnce$$' ./internal/servicetest
	PASSERELLE_TEST_HISTORIES=1000000 go test -v -count=1 -timeout 10m -run '^TestRandomHistories$$' ./payment
	PASSERELLE_TEST_JOURNEYS=100000 scripts/with-postgres go test -v -count=1 -timeout 4h -run '^TestHostileJourneys$$' ./internal/api
	PASSERELLE_TEST_HTTP_HISTORIES=10000 go test -v -count=1 -timeout 2h -run '^TestRandomHistories$$' ./internal/servicetest
	PASSERELLE_TEST_BANK_TRANSACTIONS=10000 scripts/with-postgres go test -v -count=1 -timeout 1h -run '^TestThousandsOfTransactions$$' ./cmd/passerelle
	PASSERELLE_TEST_RACES=1000 scripts/with-postgres go test -count=1 -timeout 2h ./internal/initiation
	PASSERELLE_TEST_PAYMENTS=1000000 PASSERELLE_TEST_TRANSACTIONS=1000000 PASSERELLE_TEST_DELIVERIES=1000000 scripts/with-postgres go test -v -count=1 -timeout 2h -run Million ./internal/store ./internal/aggregation ./internal/console
	PASSERELLE_TEST_KILLS=200 PASSERELLE_TEST_DATABASE_KILLS=100 PASSERELLE_TEST_RESTARTS=20 PASSERELLE_TEST_COPIES=10 PASSERELLE_TEST_EVENTS=5000 \
		scripts/with-postgres go test -tags torture -v -count=1 -timeout 2h -run 'NothingIsLost|RollingRestart|NoDuplicate|TakesOver|CopiesUnderLoad' ./internal/servicetest
	PASSERELLE_TEST_DEATHS=20 PASSERELLE_TEST_DEATH_MARKS=1000 PASSERELLE_TEST_KILLS=200 PASSERELLE_TEST_DATABASE_KILLS=100 \
		scripts/with-postgres go test -tags torture -v -count=1 -timeout 12h -run 'CrashAtEachMark|KillsUnderMixedLoad' ./internal/servicetest
	PASSERELLE_TEST_NETWORKS=30 PASSERELLE_TEST_NETWORK_TIME=10s PASSERELLE_TEST_FILLS=10 PASSERELLE_TEST_REPLICA_KILLS=50 PASSERELLE_TEST_REPLICA_RESTARTS=50 \
		PASSERELLE_TEST_OVERLOAD=30s PASSERELLE_TEST_OPERATIONS=10 \
		scripts/with-postgres go test -tags torture -v -count=1 -timeout 4h -run 'Network|FullDisk|Replicas|Overload|Operations' ./internal/servicetest
	$(MAKE) pooled newest
	$(MAKE) release-test
	scripts/install-tools patroni
	PASSERELLE_TEST_FAILOVERS=10 PASSERELLE_TEST_FILLS=10 PASSERELLE_TEST_PREVIOUS=$$(scripts/previous-version) \
		scripts/with-postgres go test -tags torture -v -count=1 -timeout 4h -run 'Failover|UpgradeUnderLoad|ReadOnlyFiles|DomainMoves' ./internal/servicetest
	PASSERELLE_TEST_PAIRS=5 PASSERELLE_TEST_EVENTS=5000 scripts/with-postgres go test -v -count=1 -timeout 2h -run DeadEndpoints ./internal/servicetest
	PASSERELLE_TEST_PAIRS=5 PASSERELLE_TEST_PROGRAM_RESTARTS=100 go test -v -count=1 -timeout 2h -run 'HostileProgramsCost|RestartedProgram' ./internal/servicetest

.PHONY: pooled
pooled: ## run the tests of the store through PgBouncer in transaction mode
	scripts/install-tools postgres pgbouncer
	scripts/with-postgres scripts/with-pgbouncer bash -c "go test -tags pooled -count=1 -run Pooler ./internal/database && go test -count=1 -timeout 30m ./internal/store ./internal/bankstore"

.PHONY: newest
newest: ## run the tests of the store on Debian's newest PostgreSQL, directly and through PgBouncer
	scripts/install-tools newest-postgres
	folder=$$(mktemp -d /var/tmp/passerelle-newest.XXXXXX); trap 'rm -rf "$$folder"' EXIT; chmod 755 "$$folder"; \
	export PASSERELLE_POSTGRES_BIN; PASSERELLE_POSTGRES_BIN=$$(scripts/newest-postgres "$$folder"); \
	scripts/with-postgres scripts/plans -count=1 -timeout 30m ./internal/database ./internal/store ./internal/bankstore; \
	scripts/with-postgres scripts/with-pgbouncer bash -c "go test -tags pooled -count=1 -run Pooler ./internal/database && go test -count=1 -timeout 30m ./internal/store ./internal/bankstore"

.PHONY: samples
samples: ## read the public sample files of other programs that docs/statement-samples.md lists
	scripts/samples

.PHONY: bench
bench: tools ## compare the speed of the service with the limits of this machine, into bench/results
	PASSERELLE_POSTGRES_DURABLE=1 scripts/with-postgres go run ./bench -results bench/results
	go test -run '^$$' -bench '^BenchmarkFirstRead$$' -benchtime 3x -count 3 ./cmd/passerelle

.PHONY: pictures
pictures: tools ## take the pictures of the console and the payment pages in docs/pictures again
	PASSERELLE_DOC_PICTURES=1 go test -count=1 -run '^TestPictures$$' ./internal/console

# A larger GOGC uses more memory. The linter is compiled and runs faster with it.
.PHONY: check
check: export GOGC := 400
check: ## check format, vet, lint and module files
	$(LINT) config verify
	$(LINT) run ./...
	go mod tidy -diff

.PHONY: format
format: ## format the code
	$(LINT) fmt ./...

.PHONY: generate
generate: tools ## generate golden and generated files again
	scripts/with-postgres scripts/generate

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (make fuzz FUZZTIME=10m)
	scripts/fuzz $(FUZZTIME)

.PHONY: tools
tools: ## install the tools that the tests need, if they are missing
	scripts/install-tools

.PHONY: clean
clean: ## remove build results
	rm -rf bin

# squall: make demo, make test. See README.md.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0-dev)

.PHONY: all build demo test race lint generate bench fuzz man install clean

all: build

build:
	$(GO) build -trimpath -ldflags '-X main.release=$(VERSION)' -o bin/squall ./cmd/squall

# A storm through a router in network namespaces; about 20 seconds, needs root.
demo: build
	./bin/squall demo

# All tests. Those that need network namespaces need root and fail without.
# One package at a time: they share two ends of a cable and a clock.
test:
	$(GO) test -p 1 ./...

# The same with the race detector, which needs cgo and a C compiler.
race:
	CGO_ENABLED=1 $(GO) test -race -p 1 ./...

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l . >&2; echo 'run gofmt -w on these' >&2; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# The BPF programs from their C sources: needs clang-14, llvm-14 and libbpf-dev.
generate:
	$(GO) generate ./internal/port/bpf

# Speed, side by side with trafgen and tcpreplay where they are installed; needs
# root and some five minutes of a quiet machine.
bench: build
	$(GO) run ./bench

# Each fuzz target for FUZZTIME.
FUZZTIME ?= 20s
fuzz:
	@for p in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
			echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; \
		done; \
	done

man: build
	./bin/squall man bin/man

PREFIX ?= /usr/local
install: build man
	install -D bin/squall $(DESTDIR)$(PREFIX)/bin/squall
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 bin/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	bin/squall completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/squall

clean:
	rm -rf bin

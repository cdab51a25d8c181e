# Brig. `make help` lists the targets; `make demo` and `make test` need nothing before them.
#
# Two files (the other lists the sources of each program), no recursion into directories. Where a target calls $(MAKE) again it is for
# order (packages before compiling) or for a second build with other flags in its own B.
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

# ---- what may be set on the command line -----------------------------------------
B ?= build
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
# 0: warnings are warnings (for compilers newer than ours).
DEV ?= 1
# Example: SANITIZE=address,undefined B=build/asan. `make asan` builds what is meant to run so.
SANITIZE ?=
V ?= 0
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 20
SOAK_CALLS ?= 100000
CFLAGS ?= -O2 -g

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(patsubst $(B)/%,%,$(2))')

# The distribution's Python, never one that a version manager put into PATH; the same
# for its .pc file, so the search path of pkg-config is the system's and nothing else.
PYTHON := /usr/bin/python3
space := $(subst ,, )
comma := ,
PKG := env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR=$(subst $(space),:,$(strip \
	$(wildcard /usr/lib/*/pkgconfig) /usr/lib64/pkgconfig /usr/lib/pkgconfig /usr/share/pkgconfig)) pkg-config

# ---- flags -----------------------------------------------------------------------
CLANG := $(findstring clang,$(CC))
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla $(if $(filter 1,$(DEV)),-Werror)
# clang before 16 takes "zero" only with a flag that later versions do not know; "pattern" it always takes.
INIT := -ftrivial-auto-var-init=$(if $(CLANG),pattern,zero)
HARD := -fstack-protector-strong -fstack-clash-protection -fcf-protection -fPIE $(INIT)
FORT := $(if $(SANITIZE),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
SAN := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
LHARD := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed
ALLC = -std=gnu17 -D_GNU_SOURCE -I. $(WARN) $(HARD) $(FORT) $(SAN) $(FUZZC) $(DEFS) $(CFLAGS) -MMD -MP
ALLL = $(LHARD) $(SAN) $(LDFLAGS)

# ---- what each program is made of, and with what it is linked ---------------------
include programs.mk

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
PROGRAMS := $(B)/brig $(B)/brig-mcp $(B)/brig-relay $(B)/brigd $(B)/brig-zygote $(B)/brig-courier
PRELUDE_OBJ := $(B)/obj/prelude.o

.PHONY: all
all: $(PROGRAMS) ## build the programs into build/

$(B)/brig: $(call obj,$(BRIG_SRC))
$(B)/brig-relay: $(call obj,$(RELAY_ALL) $(WIRE_SRC) $(BASE_SRC))
$(B)/brig-mcp: $(call obj,$(MCP_ALL) $(WIRE_SRC) $(BASE_SRC))
$(B)/brigd: $(call obj,$(BRIGD_SRC))
$(B)/brig-zygote: $(call obj,$(ZYGOTE_SRC)) $(PRELUDE_OBJ)
$(B)/brig-courier: $(call obj,$(COURIER_ALL))
$(B)/brig: LINK_PKG := $(BRIG_PKG)
$(B)/brig-relay: LINK_PKG := $(RELAY_PKG)
$(B)/brig-mcp: LINK_PKG := $(MCP_PKG)
$(B)/brigd: LINK_PKG := $(BRIGD_PKG)
$(B)/brig-zygote: LINK_PKG := $(ZYGOTE_PKG)
$(B)/brig-courier: LINK_PKG := $(COURIER_PKG)

# chmod: an ordinary user must be able to run what root built under a tight umask.
$(PROGRAMS):
	$(call say,LD,$@)
	$(Q)$(CC) $(ALLL) -o $@ $^ $(if $(LINK_PKG),$$($(PKG) --libs $(LINK_PKG))) && chmod a+rx $(B) $@

# prelude.py travels inside the zygote: symbols _binary_prelude_py_start and _end.
$(PRELUDE_OBJ): jail/prelude.py
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)cd jail && ld -r -b binary -z noexecstack -o $(abspath $@) prelude.py

# Headers of a library are found only by those that may use it.
$(B)/obj/jail/%.o: OBJ_PKG = python3-embed libnl-route-3.0 libcap
$(B)/obj/jail/base/%.o: OBJ_PKG =
$(B)/obj/supervisor/%.o: OBJ_PKG = libcjson libseccomp libcap libevent_core sqlite3 libpcre2-8
$(B)/obj/supervisor/courier_main.o $(B)/obj/supervisor/courier_http.o: OBJ_PKG = libcurl
$(B)/obj/agent/%.o: OBJ_PKG =
$(B)/obj/agent/link.o $(B)/obj/agent/mcp/%.o: OBJ_PKG = libevent_core
$(B)/obj/agent/relay/%.o: OBJ_PKG = libevent_core libevent_extra libcurl
# "@stdlib" of a profile is the library of the very Python that the zygote is linked with.
$(B)/obj/supervisor/profile_mounts.o: DEFS = -DBRIG_PYTHON_VERSION='"$(shell $(PKG) --modversion python3-embed)"'
$(B)/obj/tests/%.o: OBJ_PKG = $(TEST_PKG)
$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(ALLC) $(if $(OBJ_PKG),$$($(PKG) --cflags $(OBJ_PKG))) -c -o $@ $<

# ---- tests -----------------------------------------------------------------------
# Everything but the main files as archives, so that a unit test links just what it names.
LIBS := $(addprefix $(B)/lib,agent.a supervisor.a wire.a jail.a base.a)
$(B)/libagent.a: $(call obj,$(AGENT_SRC) $(LINK_SRC) $(MCP_SRC))
$(B)/libsupervisor.a: $(call obj,$(SUPERVISOR_SRC))
$(B)/libwire.a: $(call obj,$(WIRE_SRC))
$(B)/libjail.a: $(call obj,$(JAIL_SRC) $(SPEC_SRC)) $(PRELUDE_OBJ)
$(B)/libbase.a: $(call obj,$(BASE_SRC))
$(LIBS):
	@mkdir -p $(@D) && rm -f $@
	$(Q)ar rcs $@ $^

# tests/unit/u-NAME.c and tests/filter/u-NAME.c are cmocka programs; other C files of a suite
# are single programs too, unless their name starts with a lower-case "lib".
UNIT := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/u-*.c tests/filter/u-*.c))
TEST_PROGRAMS := $(UNIT) $(patsubst %.c,$(B)/%,$(filter-out tests/escape/lib% tests/fault/lib%,$(wildcard tests/escape/*.c tests/integration/*.c tests/fault/*.c)))
$(TEST_PROGRAMS): $(B)/tests/%: $(B)/obj/tests/%.o $(LIBS)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALLL) -o $@ $(filter %.o,$^) -Wl,--start-group $(LIBS) -Wl,--end-group $$($(PKG) --libs $(TEST_PKG)) && chmod a+rx $(@D) $@

# A zygote in which a planned call of a starting jail fails (tests/fault/libshim.c has the same list; x86-64).
FAULT_WRAP := status_open status_send status_close bind cap_drop_bound cap_get_bound cap_init cap_reset_ambient cap_set_proc cap_set_secbits \
	chdir chroot close_range connect dup3 fchdir fcntl fork fsconfig fsmount fsopen fstat futimens getgroups getresgid getresuid getrlimit \
	getsid mknod mmap mount_setattr move_mount munmap nl_connect nl_recvmsgs_default nl_send_simple nl_socket_alloc nl_socket_modify_cb \
	nl_wait_for_ack open open_tree prctl read sethostname setdomainname setrlimit setsid sigaction sigprocmask socket statx syscall \
	umount2 uname unshare write
FAULT_ZYGOTE := $(if $(filter x86_64,$(shell uname -m)),$(B)/tests/fault/zygote)
$(B)/tests/fault/zygote: $(call obj,$(ZYGOTE_SRC) tests/fault/libshim.c) $(PRELUDE_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALLL) $(addprefix -Wl$(comma)--wrap=,$(FAULT_WRAP)) -o $@ $^ $$($(PKG) --libs $(ZYGOTE_PKG))

.PHONY: unit tests test check check-escape check-root check-vm check-link check-asan check-clang
unit: $(UNIT)
$(B)/tests/escape/onelayer: $(B)/obj/tests/escape/libplace.o
tests: all $(TEST_PROGRAMS) $(FAULT_ZYGOTE)

test: ## install what is missing, build, run every suite this machine can run
	$(Q)tools/deps build test vm
	$(Q)$(MAKE) --no-print-directory tests
	$(Q)tests/run.sh

check: tests ## the suites that need no privilege
	$(Q)tests/run.sh unit filter link
check-escape: tests ## the attacks (needs user namespaces)
	$(Q)tests/run.sh escape
check-root: tests ## whole calls, faults and leaks (more of them run as root)
	$(Q)tests/run.sh integration fault cases
check-vm: tests ## the same under other kernels with unified cgroup v2, in QEMU
	$(Q)tools/deps vm
	$(Q)tests/run.sh vm
check-link: all ## what each binary must not be linked with
	$(Q)tools/lint/check-link $(B)
check-asan: all ## unit tests, and whole calls over a daemon, under AddressSanitizer and UBSan
	$(Q)tests/run.sh asan
# The zygote as it is: a jail's filter has no room for a sanitizer's system calls. Profiles are looked for beside the build directory.
.PHONY: asan
asan: all
	$(Q)$(MAKE) --no-print-directory B=$(B)/asan SANITIZE=address,undefined unit $(B)/asan/brig $(B)/asan/brigd
	$(Q)cp $(B)/brig-zygote $(B)/brig-courier $(B)/asan/ && ln -sfn ../profiles $(B)/profiles
check-clang: ## everything compiles clean with clang too
	$(Q)$(MAKE) --no-print-directory B=$(B)/clang CC=clang tests

# ---- fuzzing: tests/fuzz/f-NAME.c, corpus in tests/fuzz/corpus/NAME ----------------
FUZZ := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/f-*.c))
$(B)/tests/fuzz/%: $(B)/obj/tests/fuzz/%.o $(LIBS)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALLL) -fsanitize=fuzzer -o $@ $< -Wl,--start-group $(LIBS) -Wl,--end-group $$($(PKG) --libs $(TEST_PKG))
.PHONY: fuzz fuzz-build fuzz-programs
fuzz-programs: $(FUZZ)
fuzz-build: ## build the fuzz targets (clang, libFuzzer)
	$(Q)$(MAKE) --no-print-directory B=$(B)/fuzz CC=clang SANITIZE=address,undefined FUZZC=-fsanitize=fuzzer-no-link fuzz-programs
fuzz: fuzz-build ## run each fuzz target for FUZZ_SECONDS
	$(Q)tests/fuzz/run.sh $(B)/fuzz $(FUZZ_SECONDS)

# ---- lint ------------------------------------------------------------------------
.PHONY: lint format format-check
lint: ## cppcheck, shellcheck and the rules of tools/lint
	$(Q)tools/lint/run $(B)
format-check: ## the C code is as clang-format would write it
	$(Q)git ls-files '*.c' '*.h' | xargs -r clang-format --dry-run --Werror
format: ## let clang-format write it
	$(Q)git ls-files '*.c' '*.h' | xargs -r clang-format -i

# ---- the rest --------------------------------------------------------------------
.PHONY: deps demo bench bench-deps soak install uninstall clean help
deps: ## install the packages that a build needs and that are missing
	$(Q)tools/deps build
demo: ## install what is missing, build, run the main job and the hostile bodies
	$(Q)tools/deps build
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(PYTHON) tools/demo --brig $(B)/brig
bench: all ## measure calls against bare python3, write build/bench.json
	$(Q)$(PYTHON) tests/bench/bench.py --build $(B)
bench-deps: ## install what the bench compares with and measures besides, all of it optional
	$(Q)tools/deps bench
soak: all ## SOAK_CALLS calls over a daemon; nothing may grow
	$(Q)BUILD_DIR=$(abspath $(B)) BRIG_SOAK_CALLS=$(SOAK_CALLS) $(PYTHON) tests/integration/soak.py

# brig finds brigd, brigd finds brig-zygote, brig-courier and ../profiles from where they really lie: the four stand
# together, PATH gets links, and the whole can be moved.
LIBDIR := $(DESTDIR)$(PREFIX)/lib/brig
BINDIR := $(DESTDIR)$(PREFIX)/bin
SHARE := $(DESTDIR)$(PREFIX)/share
UNITS := $(DESTDIR)$(PREFIX)/lib/systemd/system
MAN_SRC := $(wildcard agent/*.[1-8] supervisor/*.[1-8] profiles/*.[1-8] tools/*.[1-8])
man_path = $(SHARE)/man/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
install: all ## into DESTDIR and PREFIX
	install -d -m 755 $(LIBDIR)/bin $(LIBDIR)/profiles $(BINDIR) $(SHARE)/brig
	install -m 755 $(PROGRAMS) $(LIBDIR)/bin
	install -m 644 $(wildcard profiles/*.json) $(LIBDIR)/profiles
	install -D -m 644 -t $(LIBDIR)/profiles/policies $(wildcard profiles/policies/*.json)
	install -D -m 644 -t $(LIBDIR)/profiles/tiers $(wildcard profiles/tiers/*.json)
	$(if $(wildcard profiles/tools/*),install -D -m 644 -t $(LIBDIR)/profiles/tools $(wildcard profiles/tools/*))
	ln -sfn ../lib/brig/bin/brig $(BINDIR)/brig
	ln -sfn ../lib/brig/bin/brigd $(BINDIR)/brigd
	ln -sfn ../../lib/brig/profiles $(SHARE)/brig/profiles
	install -D -m 644 dist/brigd.conf $(SHARE)/doc/brig/brigd.conf
	install -D -m 644 dist/brig.bash $(SHARE)/bash-completion/completions/brig
	install -d -m 755 $(UNITS) && sed 's|@LIBDIR@|$(PREFIX)/lib/brig|' dist/brigd.service >$(UNITS)/brigd.service && chmod 644 $(UNITS)/brigd.service
	$(foreach m,$(MAN_SRC),install -D -m 644 $(m) $(call man_path,$(m));)
uninstall: ## what install put there
	rm -rf $(LIBDIR)
	rm -f $(BINDIR)/brig $(BINDIR)/brigd $(SHARE)/brig/profiles $(SHARE)/doc/brig/brigd.conf $(SHARE)/bash-completion/completions/brig $(UNITS)/brigd.service $(foreach m,$(MAN_SRC),$(call man_path,$(m)))
	-rmdir $(SHARE)/brig $(SHARE)/doc/brig
clean: ## remove build/
	rm -rf $(B)
help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

# Brig. `make help` lists the targets.
.DELETE_ON_ERROR:
CONFIG ?= dev
B := build
CC ?= gcc
PKG := pkg-config
V ?= 0
Q := $(if $(filter 1,$(V)),,@)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wvla -Werror
HARD := -fstack-protector-strong -fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero -fPIE
FORT := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
LHARD := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed
CFLAGS ?= -O2 -g
ALLC = -std=gnu17 -D_GNU_SOURCE -I. $(WARN) $(HARD) $(FORT) $(CFLAGS) -MMD -MP

BASE := $(wildcard jail/base/*.c)
WIRE := $(wildcard supervisor/wire/*.c)
BRIG_SRC := $(wildcard agent/*.c) $(WIRE) $(BASE)
BRIGD_SRC := $(wildcard supervisor/*.c) $(WIRE) $(BASE) jail/spec.c
ZYGOTE_SRC := $(wildcard jail/*.c) $(BASE)

BRIG_PKG := libcjson
BRIGD_PKG := libcjson libseccomp libcap libevent_core libmd
ZYGOTE_PKG := python3-embed libcap libnl-route-3.0 libnl-3.0

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))

all: $(B)/brig $(B)/brigd $(B)/brig-zygote

$(B)/brig: $(call obj,$(BRIG_SRC))
	$(Q)$(CC) $(LHARD) $(LDFLAGS) -o $@ $^ $(shell $(PKG) --libs $(BRIG_PKG))
$(B)/brigd: $(call obj,$(BRIGD_SRC))
	$(Q)$(CC) $(LHARD) $(LDFLAGS) -o $@ $^ $(shell $(PKG) --libs $(BRIGD_PKG))
$(B)/brig-zygote: $(call obj,$(ZYGOTE_SRC)) $(B)/obj/prelude.o
	$(Q)$(CC) $(LHARD) $(LDFLAGS) -o $@ $^ $(shell $(PKG) --libs $(ZYGOTE_PKG))

# prelude.py travels inside the zygote: symbols _binary_prelude_py_start, _end.
$(B)/obj/prelude.o: jail/prelude.py
	@mkdir -p $(@D)
	$(Q)cd jail && $(LD) -r -b binary -z noexecstack -o $(abspath $@) prelude.py

$(B)/obj/jail/python.o $(B)/obj/jail/python_host.o: PYC = $(shell $(PKG) --cflags python3-embed)
$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALLC) $(PYC) $(shell $(PKG) --cflags libnl-3.0) -c -o $@ $<

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
.PHONY: all clean

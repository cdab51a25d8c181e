build-gcc/obj/jail/status.o: jail/status.c jail/status.h \
 jail/base/compiler.h jail/base/names.h
jail/status.h:
jail/base/compiler.h:
jail/base/names.h:

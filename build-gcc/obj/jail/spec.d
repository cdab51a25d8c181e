build-gcc/obj/jail/spec.o: jail/spec.c jail/spec.h jail/base/limits.h \
 jail/base/names.h jail/base/compiler.h
jail/spec.h:
jail/base/limits.h:
jail/base/names.h:
jail/base/compiler.h:

build-gcc/obj/jail/init.o: jail/init.c jail/init.h jail/layer.h \
 jail/enter.h jail/base/compiler.h jail/spec.h jail/base/limits.h \
 jail/base/names.h jail/zygote_proto.h jail/status.h
jail/init.h:
jail/layer.h:
jail/enter.h:
jail/base/compiler.h:
jail/spec.h:
jail/base/limits.h:
jail/base/names.h:
jail/zygote_proto.h:
jail/status.h:

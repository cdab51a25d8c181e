build-gcc/obj/jail/enter.o: jail/enter.c jail/enter.h \
 jail/base/compiler.h jail/spec.h jail/base/limits.h jail/base/names.h \
 jail/zygote_proto.h jail/init.h jail/layer.h jail/status.h jail/python.h
jail/enter.h:
jail/base/compiler.h:
jail/spec.h:
jail/base/limits.h:
jail/base/names.h:
jail/zygote_proto.h:
jail/init.h:
jail/layer.h:
jail/status.h:
jail/python.h:

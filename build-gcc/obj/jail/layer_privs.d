build-gcc/obj/jail/layer_privs.o: jail/layer_privs.c jail/layer.h \
 jail/enter.h jail/base/compiler.h jail/spec.h jail/base/limits.h \
 jail/base/names.h jail/zygote_proto.h jail/status.h
jail/layer.h:
jail/enter.h:
jail/base/compiler.h:
jail/spec.h:
jail/base/limits.h:
jail/base/names.h:
jail/zygote_proto.h:
jail/status.h:

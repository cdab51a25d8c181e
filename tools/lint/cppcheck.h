/* For cppcheck alone, which does not read system headers: macros whose expansion it must know. */
#define LIST_HEAD(name, type) \
	struct name {         \
		struct type *lh_first; \
	}
#define LIST_ENTRY(type)             \
	struct {                     \
		struct type *le_next; \
		struct type **le_prev; \
	}
#define LIST_FOREACH(var, head, field) for ((var) = (head)->lh_first; (var); (var) = (var)->field.le_next)
#define TAILQ_HEAD(name, type) \
	struct name {          \
		struct type *tqh_first; \
		struct type **tqh_last; \
	}
#define TAILQ_ENTRY(type)             \
	struct {                      \
		struct type *tqe_next; \
		struct type **tqe_prev; \
	}
#define TAILQ_FOREACH(var, head, field) for ((var) = (head)->tqh_first; (var); (var) = (var)->field.tqe_next)

/* How the embedded store's files come to core, which may open nothing to write: the keeper opens them by fixed names in a
 * directory of its own (keeper_store.c) and lends descriptors; SQLite is given a file system in which these four files exist and nothing else. */
#ifndef BRIG_SUPERVISOR_STORE_FILES_H
#define BRIG_SUPERVISOR_STORE_FILES_H

/* The files of SQLite's write-ahead logging; JOURNAL is used once, when a fresh database becomes one with a log. */
enum store_file { STORE_DB, STORE_JOURNAL, STORE_WAL, STORE_SHM, STORE_FILES };

/* In state_dir. */
#define STORE_DIR "registry"
extern const char *const store_file_names[STORE_FILES];

/* What SQLite calls the database; there is no such path. */
#define STORE_PATH "/brig/registry.db"

/* Core only, once: SQLite's own file access is replaced, for this process. Takes the descriptors. 0 or -errno. */
int store_files_serve(const int fds[STORE_FILES]);

#endif

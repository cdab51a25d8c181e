"""list_files: what is in a directory of the workspace."""
import os
import stat

ROOT = "/workspace"
OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def parts_of(path):
    """One component after the other, so that no name is ever resolved by the kernel past a link."""
    if path == ".":
        return []
    if path.startswith("/"):
        raise ValueError("the path must be relative to the workspace, not absolute")
    parts = path.split("/")
    for part in parts:
        if part in ("", ".", ".."):
            raise ValueError(f"the path may not have {part!r} as a part")
        if "\0" in part:
            raise ValueError("the path holds a NUL")
    return parts


def reason(error, path):
    """In words that tell what to do, without a path that is not the caller's."""
    if isinstance(error, NotADirectoryError):
        return NotADirectoryError(f"{path!r}: a part of it is a link or a file, not a directory; links are not followed")
    return type(error)(f"{path!r}: {error.strerror}")


def open_dir(parts, path):
    fd = os.open(ROOT, OPEN_DIR)
    for part in parts:
        try:
            below = os.open(part, OPEN_DIR, dir_fd=fd)
        except OSError as error:
            raise reason(error, path) from None
        finally:
            os.close(fd)
        fd = below
    return fd


KINDS = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "directory"), (stat.S_ISLNK, "link"))


def kind_of(mode):
    return next((name for test, name in KINDS if test(mode)), "other")


def walk(fd, base, depth, found, most):
    """False: there is more than `most`."""
    for name in sorted(os.listdir(fd)):
        try:
            here = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError:
            continue  # gone meanwhile
        if len(found) == most:
            return False
        path = base + name
        shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        found.append({"path": shown, "type": kind_of(here.st_mode), "size": here.st_size})
        if depth > 1 and stat.S_ISDIR(here.st_mode):
            try:
                below = os.open(name, OPEN_DIR, dir_fd=fd)
            except OSError:
                continue
            try:
                if not walk(below, path + "/", depth - 1, found, most):
                    return False
            finally:
                os.close(below)
    return True


def run(path=".", depth=1, max=500):
    parts = parts_of(path)
    fd = open_dir(parts, path)
    entries = []
    whole = walk(fd, "".join(part + "/" for part in parts), depth, entries, max)
    return {"path": path, "entries": entries, "truncated": not whole}

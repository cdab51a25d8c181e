"""write_file: makes, replaces or lengthens a regular file of the workspace."""
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


def check_regular(found, path):
    """What another name of the file, outside the workspace, may be."""
    if stat.S_ISLNK(found.st_mode):
        raise PermissionError(f"{path!r} is a link; links are not followed")
    if not stat.S_ISREG(found.st_mode):
        raise PermissionError(f"{path!r} is not a regular file")
    if found.st_nlink != 1:
        raise PermissionError(f"{path!r} has {found.st_nlink} names (hard links), perhaps outside the workspace")


def open_regular(name, fd, path, flags):
    """Looked at before it is opened, since opening a FIFO or a device does something; and after, since it may have been swapped."""
    try:
        check_regular(os.stat(name, dir_fd=fd, follow_symlinks=False), path)
        file = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=fd)
    except PermissionError as error:
        raise (reason(error, path) if error.errno else error) from None
    except OSError as error:
        raise reason(error, path) from None
    check_regular(os.fstat(file), path)
    return file


def create(name, fd, path):
    try:
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=fd)
    except OSError as error:
        raise reason(error, path) from None


def exists(name, fd):
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def run(path, content, mode="create"):
    *above, name = parts_of(path) or [""]
    if not name:
        raise IsADirectoryError("the path names the workspace itself")
    data = content.encode("utf-8")
    fd = open_dir(above, path)
    created = mode == "create" or not exists(name, fd)
    if created:
        file = create(name, fd, path)
    else:
        file = open_regular(name, fd, path, os.O_WRONLY)
    at = os.fstat(file).st_size if mode == "append" else 0
    if mode == "overwrite" and not created:
        os.ftruncate(file, 0)
    try:
        done = 0
        while done < len(data):
            done += os.pwrite(file, data[done:], at + done)
    except OSError as error:
        raise reason(error, path) from None
    return {"path": path, "bytes": len(data), "size": os.fstat(file).st_size, "created": created}

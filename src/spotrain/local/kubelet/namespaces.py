"""Run a command with a hosts file and a host name of its own: `namespaces.py HOSTS NAME CMD ...`.

Linux gives a process its own view of mounts and of the host's name, to root at once and to others
behind a user namespace. Where it may not be had, the command runs without and says so. Only the
standard library: this starts in 10 ms.
"""

import ctypes
import os
import signal
import sys

NEW_MOUNTS, NEW_NAME, NEW_USERS = 0x00020000, 0x04000000, 0x10000000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1


def isolate(hosts: str, name: str) -> None:
    """Raises OSError where the system forbids it, AttributeError where it has no such thing."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(function: str, *arguments: object) -> None:
        if getattr(libc, function)(*arguments) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{function}: {os.strerror(number)}")

    user, group = os.geteuid(), os.getegid()
    if user == 0:
        call("unshare", NEW_MOUNTS | NEW_NAME)
        call("mount", b"none", b"/", None, RECURSIVE | PRIVATE, None)
    else:
        call("unshare", NEW_MOUNTS | NEW_NAME | NEW_USERS)
        for file, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{file}", "w") as entry:
                entry.write(text)
    call("mount", hosts.encode(), b"/etc/hosts", None, BIND, None)
    call("sethostname", name.encode(), len(name.encode()))
    # New rights undo the tie to the parent (see agent/tether.py).
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    try:
        isolate(sys.argv[1], sys.argv[2])
    except (OSError, AttributeError) as error:
        print(f"no hosts file of its own ({error}): names of Services stay unknown", flush=True)
    os.execvp(sys.argv[3], sys.argv[3:])


if __name__ == "__main__":
    main()

"""A worker that its own commands cannot look into, although they have its user."""

import ctypes
import os
import sys
from typing import Final

_PR_SET_DUMPABLE: Final = 4


def keep_to_oneself() -> None:
    """Variables, memory and open files of this process are root's from now on, and no core dumped.

    Linux shows them to whoever has the same user, in /proc, unless told. Not inherited by programs
    that are started. Elsewhere nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))

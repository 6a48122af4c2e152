# SPDX-License-Identifier: MIT
"""Changes to the database of an unmounted store by hand.

Python's SQLite knows nothing of the sums that fencefs keeps in each page (fs/store/sqlite/page_sum.h): they are written afterwards.
"""

import contextlib
import ctypes
import ctypes.util
import sqlite3
from pathlib import Path

PAGE = 4096
SUM_AT = PAGE - 8


def _xxh3():
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    function = library.XXH3_64bits_withSeed
    function.restype = ctypes.c_uint64
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return function


def write_sums(path: Path):
    """What a page holds is from now on what was written."""
    xxh3 = _xxh3()
    with open(path, "r+b") as file:
        if file.read(PAGE)[20] != 8:
            return
        file.seek(0)
        number = 1
        while page := file.read(PAGE):
            right = xxh3(page, SUM_AT, number).to_bytes(8, "little")
            if page[SUM_AT:] != right and page.strip(b"\0"):
                file.seek((number - 1) * PAGE + SUM_AT)
                file.write(right)
            number += 1


@contextlib.contextmanager
def changing(path: Path):
    """A connection to a database that nobody serves; it is committed at the end."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        yield db
        db.commit()
    write_sums(path)

# SPDX-License-Identifier: MIT
"""A mount that hangs, without fencefs. No tests here."""

import ctypes
import os
import struct
from pathlib import Path


def hung_mount(directory: Path) -> Path:
    """A FUSE mount that accepts requests and never answers one; its server is not our child."""
    path = directory / "hung"
    path.mkdir()
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if libc.mount(b"hung", os.fsencode(path), b"fuse", 0, options):
        raise OSError(ctypes.get_errno(), "mount")
    if os.fork() == 0:
        os.setsid()
        request = os.read(device, 1 << 20)
        (unique,) = struct.unpack_from("=Q", request, 8)
        body = struct.pack("=IIIIHHI", 7, 31, 4096, 0, 12, 9, 4096).ljust(64, b"\0")
        os.write(device, struct.pack("=IiQ", 16 + len(body), 0, unique) + body)
        while True:
            try:
                os.read(device, 1 << 20)
            except OSError:
                os._exit(0)
    os.close(device)
    return path

#!/usr/bin/python3
"""One rank of an allreduce over a DPDK device, timed as allreduce.py times: barrier, allreduce, again and again.

Usage: memif_worker.py LIBRARY JOB_FILE DEVICE SWITCH_MAC BYTES ROUNDS. Prints one line of JSON: seconds of each round.
"""
import ctypes
import json
import sys
import time

import numpy as np


class Request(ctypes.Structure):  # l3dml_request of tools/host/l3dml.h
    _fields_ = [("size", ctypes.c_size_t), ("input", ctypes.c_void_p), ("output", ctypes.c_void_p), ("count", ctypes.c_size_t),
                ("type", ctypes.c_int), ("format", ctypes.c_int), ("op", ctypes.c_int), ("key", ctypes.c_uint64),
                ("residual", ctypes.c_void_p)]


FLOAT32, INT32, WARM_UP = 0, 4, 2


def main():
    library, job_file, device, mac, size, rounds = sys.argv[1:]
    lib = ctypes.CDLL(library)
    lib.l3dml_open_dpdk.restype = ctypes.c_void_p
    lib.l3dml_last_error.restype = ctypes.c_char_p
    lib.l3dml_allreduce.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    lib.l3dml_close.argtypes = [ctypes.c_void_p]
    job = lib.l3dml_open_dpdk(job_file.encode(), device.encode(), mac.encode(), None)
    if not job:
        sys.exit(lib.l3dml_last_error().decode())
    with open(job_file) as file:
        config = json.load(file)

    def reduce(values, kind, key):
        request = Request(ctypes.sizeof(Request), values.ctypes.data, values.ctypes.data, len(values), kind, 0, 0, key, None)
        if lib.l3dml_allreduce(job, ctypes.byref(request)) < 0:
            sys.exit(lib.l3dml_last_error().decode())

    inputs = [np.random.default_rng(r).standard_normal(int(size) // 4, dtype=np.float32) for r in range(config["world"])]
    expected = np.sum(inputs, axis=0, dtype=np.float64)
    seconds = []
    for _ in range(WARM_UP + int(rounds)):
        tensor = inputs[config["rank"]].copy()
        reduce(np.ones(1, dtype=np.int32), INT32, 1)
        start = time.perf_counter()
        reduce(tensor, FLOAT32, 2)
        seconds.append(time.perf_counter() - start)
        if np.max(np.abs(tensor - expected)) > 1e-4:
            sys.exit("the sum is wrong")
    if lib.l3dml_close(job) < 0:
        sys.exit(lib.l3dml_last_error().decode())
    print(json.dumps(seconds[WARM_UP:]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

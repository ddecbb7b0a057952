#!/usr/bin/env python3
"""A workload without PyTorch: allreduces of integers over the l3dml C library, each checked against the exact sum.

Environment as the lab gives it (RANK, WORLD_SIZE, L3DML_CONTROLLER, L3DML_JOB, L3DML_TOKEN, L3DML_OUT). Arguments: --elements N --steps S. Prints
"progress" lines on rank 0 and writes rankN.json with step_times, communication_times and the library's counters.
"""
import argparse
import ctypes
import json
import os
import sys
import time

import numpy as np


class Request(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("input", ctypes.c_void_p), ("output", ctypes.c_void_p),
                ("count", ctypes.c_size_t), ("type", ctypes.c_int), ("format", ctypes.c_int), ("op", ctypes.c_int),
                ("key", ctypes.c_uint64), ("residual", ctypes.c_void_p)]


class Stats(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "sent_packets", "retransmitted", "wire_bytes", "nacks_sent", "probes_sent", "missing_packets", "repeats",
        "abstained")] + [("segment_rtt_ns", ctypes.c_int64), ("result_time_ns", ctypes.c_int64)]


INT32 = 4


def load():
    lib = ctypes.CDLL(os.environ.get("L3DML_LIBRARY", "libl3dml_join.so.1"))
    lib.l3dml_join.restype = ctypes.c_void_p
    lib.l3dml_join.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
    lib.l3dml_last_error.restype = ctypes.c_char_p
    for name in ("l3dml_allreduce", "l3dml_close", "l3dml_get_stats"):
        getattr(lib, name).argtypes = [ctypes.c_void_p] + ([] if name == "l3dml_close" else [ctypes.c_void_p])
    return lib


def values(rank, step, count):
    return np.random.default_rng(rank * 1_000_003 + step).integers(-2**31, 2**31, count, dtype=np.int32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    lib = load()
    job = lib.l3dml_join(None, None, None, rank)
    if not job:
        sys.exit(lib.l3dml_last_error().decode())
    times = []
    for step in range(1, args.steps + 1):
        mine = values(rank, step, args.elements)
        result = np.zeros_like(mine)
        request = Request(ctypes.sizeof(Request), mine.ctypes.data, result.ctypes.data, args.elements, INT32, 0, 0, 1, None)
        began = time.perf_counter()
        if lib.l3dml_allreduce(job, ctypes.byref(request)) < 0:
            sys.exit(lib.l3dml_last_error().decode())
        times.append(time.perf_counter() - began)
        with np.errstate(over="ignore"):
            exact = sum((values(r, step, args.elements) for r in range(world)), np.zeros_like(mine))
        if not np.array_equal(exact, result):
            wrong = np.flatnonzero(exact != result)
            sys.exit(f"step {step}: {len(wrong)} of {args.elements} sums are wrong, the first at {wrong[0]}")
        if rank == 0:
            print(f"progress {step}/{args.steps} {32 * args.elements / times[-1] / 1e6:.1f} Mb/s", flush=True)
    stats = Stats(ctypes.sizeof(Stats))
    lib.l3dml_get_stats(job, ctypes.byref(stats))
    if lib.l3dml_close(job) < 0:
        sys.exit(lib.l3dml_last_error().decode())
    with open(os.path.join(os.environ["L3DML_OUT"], f"rank{rank}.json"), "w") as file:
        json.dump({"step_times": times, "communication_times": times, "gradient_bytes": 4 * args.elements, "exact": True,
                   "l3dml": {name: getattr(stats, name) for name, _ in Stats._fields_ if name != "size"}}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A worker of e2e_test.py: joins through the controller, sums int32 tensors, writes what it got.

Arguments: --steps N --elements N --out FILE. A line "step N" per step. What each
step's sum was made of is found by the caller: rank r gives 1 << r at every element, so a sum tells who is in it.
--until-all WORLD: instead of --steps, 20 steps more once all ranks are in the sum again after one was not (--came-back: we were not).
--until FILE: once it is there all end with the same step; who sees it says so in the last element.
"""
import argparse
import ctypes
import hashlib
import json
import os
import sys

import numpy as np


STOP = 1 << 16


class Request(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("input", ctypes.c_void_p), ("output", ctypes.c_void_p),
                ("count", ctypes.c_size_t), ("type", ctypes.c_int), ("format", ctypes.c_int), ("op", ctypes.c_int),
                ("key", ctypes.c_uint64), ("residual", ctypes.c_void_p)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--elements", type=int, default=100_000)
    parser.add_argument("--until-all", type=int, default=0)
    parser.add_argument("--came-back", action="store_true")
    parser.add_argument("--out", required=True)
    parser.add_argument("--until", default="")
    args = parser.parse_args()
    lib = ctypes.CDLL(os.environ["L3DML_LIBRARY"])
    lib.l3dml_join.restype = ctypes.c_void_p
    lib.l3dml_join.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
    lib.l3dml_last_error.restype = ctypes.c_char_p
    for name in ("l3dml_rank", "l3dml_close", "l3dml_allreduce"):
        getattr(lib, name).argtypes = [ctypes.c_void_p] + ([ctypes.c_void_p] if name == "l3dml_allreduce" else [])
    job = lib.l3dml_join(None, None, None, -1)
    if not job:
        sys.exit(lib.l3dml_last_error().decode())
    rank = lib.l3dml_rank(job)
    print(f"rank {rank}", flush=True)
    steps, lost, more = [], args.came_back, 20 if args.until_all else args.steps
    while more:
        step = len(steps)
        tensor = np.full(args.elements, 1 << rank, dtype=np.int32)
        if args.until and os.path.exists(args.until):
            tensor[-1] |= STOP
        request = Request(ctypes.sizeof(Request), tensor.ctypes.data, tensor.ctypes.data, args.elements, 4, 0, 0, 1, None)
        if lib.l3dml_allreduce(job, ctypes.byref(request)) < 0:
            sys.exit(lib.l3dml_last_error().decode())
        # Bits tell who was summed.
        steps.append({"sha256": hashlib.sha256(tensor.tobytes()).hexdigest(), "sums": np.unique(tensor[:-1]).tolist()})
        everybody = steps[-1]["sums"] == [(1 << args.until_all) - 1]
        lost = lost or not everybody
        more -= not args.until_all or (lost and everybody)
        print(f"step {step}", flush=True)
        if tensor[-1] >= STOP:
            break
    if lib.l3dml_close(job) < 0:
        sys.exit(lib.l3dml_last_error().decode())
    with open(args.out, "w") as file:
        json.dump(steps, file)


if __name__ == "__main__":
    main()

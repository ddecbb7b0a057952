#!/usr/bin/python3
"""One rank of an allreduce over a DPDK device, timed as allreduce.py times: barrier, allreduce, again and again.

Usage: memif_worker.py LIBRARY JOB_FILE DEVICE SWITCH_MAC BYTES ROUNDS. Prints one line of JSON: seconds of each round.
"""
import ctypes
import json
import os
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/lab"))
import allreduce as workload  # noqa: E402: Request and the calls of l3dml.h

FLOAT32, WARM_UP = 0, 2


def main():
    library, job_file, device, mac, size, rounds = sys.argv[1:]
    os.environ["L3DML_LIBRARY"] = library
    lib = workload.load()
    lib.l3dml_open_dpdk.restype = ctypes.c_void_p
    job = lib.l3dml_open_dpdk(job_file.encode(), device.encode(), mac.encode(), None)
    if not job:
        sys.exit(lib.l3dml_last_error().decode())
    with open(job_file) as file:
        config = json.load(file)

    def reduce(values, kind, key):
        request = workload.Request(ctypes.sizeof(workload.Request), values.ctypes.data, values.ctypes.data, len(values), kind,
                                   0, 0, key, None)
        if lib.l3dml_allreduce(job, ctypes.byref(request)) < 0:
            sys.exit(lib.l3dml_last_error().decode())

    inputs = [np.random.default_rng(r).standard_normal(int(size) // 4, dtype=np.float32) for r in range(config["world"])]
    expected = np.sum(inputs, axis=0, dtype=np.float64)
    seconds = []
    for _ in range(WARM_UP + int(rounds)):
        tensor = inputs[config["rank"]].copy()
        reduce(np.ones(1, dtype=np.int32), workload.INT32, 1)
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

#!/usr/bin/env python3
"""A rank that is killed, leaves or fails ends the call on the others with its name; wrong set-up says what is wrong."""
import sys
import time

import bed

WORKER = f"{bed.HERE}/failures_worker.py"
LEASE = 3  # seconds


def expect(case, *bed_options, ranks, limit=120):
    """The ranks that survive must each report that all went as expected, well within the timeout of 60 s."""
    began = time.monotonic()
    output, code = bed.run(bed.python(WORKER, case), *bed_options, env={"L3DML_LEASE": str(LEASE)}, timeout=limit)
    missing = [r for r in ranks if f"rank {r} as expected" not in output]
    error = f"ranks {missing} did not\n{output}" if missing else None
    if code != 0 and not error:
        error = f"exit code {code} after {time.monotonic() - began:.0f} s\n{output}"
    return [(case, error)]


def killed():
    return expect("killed", "--world", "3", "--may-die", "1", ranks=[0, 2])


def leaves():
    return expect("leaves", "--world", "3", ranks=[0, 1, 2])


def fails_alone():
    return expect("fails_alone", "--world", "2", "--may-die", "0", ranks=[1])


def nan_option():
    return expect("nan_option", "--world", "2", ranks=[0, 1])


def interpreter_stays_free():
    return expect("interpreter_stays_free", "--world", "2", ranks=[0, 1])


def wrong_set_up():
    """Errors of init_process_group: one line that says what to do."""
    start = ("import os, torch.distributed as dist, l3dml_torch; {} dist.init_process_group('l3dml', rank=0, world_size=1,"
             " store=dist.HashStore(), pg_options={})")
    results = []
    for case, before, options, words in (
            ("job file not named", "os.environ.pop('L3DML_JOB');", "None", "set L3DML_JOB"),
            ("job file missing", "", "l3dml_torch.Options(job='/nowhere/{rank}.json')", "cannot read /nowhere/0.json"),
            ("job file of another world", "", "None", "is for rank 0 of 2, but this process is rank 0 of 1"),
            ("unknown lane format", "", "l3dml_torch.Options(format='fixed7')", "fixed32, fixed16x2 or fixed8x4"),
            ("options of another type", "", "dict(job='x')", "must be l3dml_torch.Options"),
            ("unknown non_finite", "", "l3dml_torch.Options(non_finite='maybe')", "raise or nan")):
        # Only rank 0 tries; the other one has nothing to do.
        code = ("import os, sys; os.environ['RANK'] == '0' or sys.exit(0)\n" + start.format(before, options))
        output, _ = bed.run(bed.python("-c", code), "--world", "2")
        last = output.strip().splitlines()[-1] if output.strip() else ""
        results.append((case, None if words in last else f"expected '{words}' in the last line of\n{output}"))
    return results


sys.exit(bed.tap([killed, leaves, fails_alone, nan_option, interpreter_stays_free, wrong_set_up]))

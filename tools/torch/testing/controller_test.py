#!/usr/bin/env python3
"""The backend joined by the controller, in a lab: everything works as with a job file, and what becomes of the group when a
rank dies is the job's policy."""
import sys

import bed
import lab

FAILURES, ELASTIC = f"{bed.HERE}/failures_worker.py", f"{bed.HERE}/elastic_worker.py"


def failure(case, dies):
    """Rank `dies` does; all others must be told so by name, long before the time-out of 40 s."""
    with lab.Lab() as bench:
        workers = [bench.start(rank, [FAILURES, case]) for rank in range(lab.WORLD)]
        codes = [worker.end() for worker in workers]
        bad = [r for r, worker in enumerate(workers)
               if r != dies and (codes[r] or f"rank {r} as expected" not in worker.output())]
        said = "\n".join(worker.output() for worker in workers)
        job = bench.job()
    why = f"ranks {bad} did not end as expected\n{said}" if bad else None
    if job["state"] != "ended" or f"rank {dies} on host" not in job.get("reason", ""):
        why = why or f"the controller does not say who it was: {job}"
    return [(f"{case}, joined by the controller", why)]


def killed():
    return failure("killed", 1)


def fails_alone():
    return failure("fails_alone", 0)


def collectives():
    with lab.Lab(loss="2%") as bench:
        workers = [bench.start(rank, [f"{bed.HERE}/collectives_worker.py"]) for rank in range(lab.WORLD)]
        codes = [worker.end(600) for worker in workers]
    return [(f"{case} [by the controller]", error) for case, error in bed.cases_of(workers[0].output(), max(codes, key=abs))]


def sums_of(worker):
    """number -> (least, most, digest)"""
    return {int(w[1]): (int(w[2]), int(w[3]), w[4]) for w in map(str.split, filter(None, worker.lines)) if w[0] == "sum"}


def elastic(comes_back):
    """Rank 3 is killed in the middle of a sum; the others go on. If it is started again, it takes its place."""
    everybody, others = 2**lab.WORLD - 1, 2**(lab.WORLD - 1) - 1
    with lab.Lab(on_loss="continue") as bench:
        arguments = [ELASTIC, "back" if comes_back else "lost"]
        workers = [bench.start(rank, arguments) for rank in range(lab.WORLD)]
        workers[0].wait_for(lambda line: line.startswith("sum 10 "))
        workers[3].kill()
        first = workers[0].wait_for(lambda line: line.startswith("sum ") and f" {others} {others} " in line)
        if comes_back:
            workers.append(bench.start(3, arguments))
        survivors = workers[:3] + workers[4:]
        codes = [worker.end() for worker in survivors]
        job = bench.job()
    said = "\n".join(worker.output() for worker in survivors)
    if any(codes):
        return [("survivors end well", f"exit codes {codes}\n{said}")]
    sums = [sums_of(worker) for worker in survivors]
    differ = [n for n in sums[0] for other in sums[1:] if n in other and other[n] != sums[0][n]]
    last = [ranks[max(ranks)][:2] for ranks in sums]
    results = [("the others go on without a rank that was killed", None if first else said),
               ("all ranks have the same sums, bit by bit", f"sums {differ} differ\n{said}" if differ else None)]
    if not comes_back:
        return results + [("the last sum is the survivors'", None if last == [(others, others)] * 3 else said)]
    begins = int(workers[4].wait_for(lambda line: "begins with sum" in line).split()[-1])
    return results + [
        ("a rank started again joins the running job", None if begins > int(first.split()[1]) else f"began with {begins}\n{said}"),
        ("it is in every sum from its first on", None if all(sums[3][n][:2] == (everybody, everybody) for n in sums[3]) and
         min(sums[3]) == begins else said),
        ("all end with the same sum, of everybody", None if last == [(everybody, everybody)] * 4 and
         len({max(ranks) for ranks in sums}) == 1 else said),
        ("nobody is missed at the end", None if [m["state"] for m in job["members"]] == ["left"] * 4 else str(job))]


def goes_on():
    return elastic(False)


def comes_back():
    return elastic(True)


def torchrun_starts_all_again():
    """Elastic restart: a rank dies, the others' sum ends with its name, torchrun starts all again, the job begins anew under
    the same token, training goes on from the checkpoint."""
    world = 3
    with lab.Lab() as bench:
        bench.create("restarted", ["west0"] * world)
        launcher = bench.start(0, ["-m", "torch.distributed.run", "--redirects", "1", "--tee", "1", "--nproc_per_node", str(world),
                                   "--max_restarts", "2", "--monitor_interval", "0.2", f"{bed.HERE}/restart_worker.py",
                                   bench.folder.name + "/checkpoint"])
        code = launcher.end()
        said, job = launcher.output(), bench.job()
    begun = [line for line in said.splitlines() if "attempt 1 begins with step" in line]
    return [("torchrun ends well", f"exit code {code}\n{said}" if code else None),
            ("all ranks begin again, from the checkpoint",
             said if len(begun) != world or any(int(line.split()[-1]) < 10 for line in begun) else None),
            ("all ranks end well the second time", None if said.count("attempt 1 ended well") == world else said),
            ("the job has ended in peace", None if job.get("reason") == "all ranks have left" else str(job))]


def refused():
    """What is wrong is said in one line."""
    results = []
    with lab.Lab() as bench:
        for case, more, words in (("wrong token", {"L3DML_TOKEN": "guess"}, "this is not the token of job torchlab"),
                                  ("no such job", {"L3DML_JOB": "other"}, "there is no job other"),
                                  ("no such host", {"L3DML_HOST": "north"}, "waits for no rank on host north")):
            start = ("import os, datetime, l3dml_torch; os.environ.update({0!r});"
                     " l3dml_torch._core.take_seat(os.environ['L3DML_JOB'], os.environ['L3DML_CONTROLLER'],"
                     " os.environ['L3DML_TOKEN'], os.environ.get('L3DML_HOST', ''), '', '', 0, 4, datetime.timedelta(seconds=10))")
            worker = bench.start(0, ["-c", start.format(more)])
            worker.end()
            last = worker.output().strip().splitlines()[-1]
            results.append((case, None if words in last else worker.output()))
    return results


sys.exit(bed.tap([refused, killed, fails_alone, collectives, goes_on, comes_back, torchrun_starts_all_again]))

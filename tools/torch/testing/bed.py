"""What the Python tests of this folder share.

Outside: run() starts a worker script around a real device (torch_bed) and returns its output. Cases are TAP: report()
prints one line each. Inside a worker: every case is a function; run_cases() runs them all on all ranks and rank 0 prints
"case NAME ok" or "case NAME failed: why" with the errors of all ranks.
"""
import os
import subprocess
import sys
import traceback

BUILD = os.environ.get("L3DML_BUILD", "build")
SOURCE = os.environ.get("L3DML_SOURCE", ".")
HERE = os.path.dirname(os.path.abspath(__file__))


class Skipped(Exception):
    pass


def environment(extra=None):
    env = dict(os.environ, PYTHONPATH=f"{BUILD}/tools/torch:{HERE}", PYTHONUNBUFFERED="1")
    for name in ("CONTROLLER", "JOB", "TOKEN"):
        env.pop("L3DML_" + name, None)
    env.update(extra or {})
    return env


def run(command, *bed, env=None, timeout=900):
    """Output and exit code of torch_bed with these options and this command."""
    done = subprocess.run([f"{BUILD}/tools/torch/torch_bed", *bed, "--", *command], env=environment(env), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
    if done.returncode == 77:
        raise Skipped(done.stdout.strip())
    return done.stdout, done.returncode


def tap(tests):
    """Runs [function]; each returns a list of (case, error or None), or raises. Prints TAP, returns an exit code."""
    number, failed = 0, False
    for test in tests:
        try:
            results = test()
        except Skipped as reason:
            number += 1
            print(f"ok {number} - {test.__name__} # SKIP {reason}", flush=True)
            continue
        except Exception:
            results = [(test.__name__, traceback.format_exc())]
        for case, error in results:
            number += 1
            print(f"{'not ok' if error else 'ok'} {number} - {case}", flush=True)
            if error:
                failed = True
                print("\n".join("# " + line for line in str(error).splitlines()[-30:]), flush=True)
    print(f"1..{number}")
    return 1 if failed else 0


def cases_of(output, code):
    """The "case ..." lines of run_cases() as results; a worker that ended badly is a failure too."""
    results = []
    for line in output.splitlines():
        if line.startswith("case "):
            name, verdict = line[5:].split(" ", 1)
            results.append((name, None if verdict == "ok" else verdict.replace("\\n", "\n")))
    if code != 0 or not results:
        results.append(("workers end well", f"exit code {code}\n{output}"))
    return results


def run_cases(cases, rank, world, store):
    """Inside a worker: runs each case on all ranks; errors meet in the store, so that rank 0 can print them."""
    for case in cases:
        error = ""
        try:
            case(rank, world)
        except Exception:
            error = traceback.format_exc()
        store.set(f"verdict/{case.__name__}/{rank}", error or "ok")
        if rank == 0:
            verdicts = [store.get(f"verdict/{case.__name__}/{r}").decode() for r in range(world)]
            bad = [f"rank {r}: {v}" for r, v in enumerate(verdicts) if v != "ok"]
            print(f"case {case.__name__}", "failed: " + "\n".join(bad).replace("\n", "\\n") if bad else "ok", flush=True)


def python(*arguments):
    return [sys.executable, *arguments]

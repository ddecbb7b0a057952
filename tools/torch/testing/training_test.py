#!/usr/bin/env python3
"""DDP over the backend, torchrun, and the promise that the same seed gives the same weights whatever is lost."""
import json
import sys
import tempfile

import bed

WORKER = f"{bed.HERE}/training_worker.py"


def case(name, *bed_options, command=None, world=2):
    output, code = bed.run(command or bed.python(WORKER, name), "--world", str(world), *bed_options)
    missing = [r for r in range(world) if f"rank {r} as expected" not in output]
    return [(name, f"exit code {code}\n{output}" if missing or code else None)]


def same_weights_as_gloo():
    return case("same_weights_as_gloo", "--loss", "0.01", world=3)


def buckets_overlap_with_the_backward_pass():
    return case("buckets_overlap_with_the_backward_pass")


def runs_under_torchrun():
    # PyTorch 1.13 under Python 3.11 cannot parse its own default of these two.
    launcher = bed.python("-m", "torch.distributed.run", "--redirects", "1", "--tee", "1", "--nproc_per_node", "2",
                          WORKER, "runs_under_torchrun")
    return case("runs_under_torchrun", "--once", command=launcher)


def same_seed_same_weights_whatever_is_lost():
    """The demo's own training, twice, with other packets lost."""
    hashes, steps = [], 6
    for loss, seed in ((0.0, 1), (0.03, 2)):
        with tempfile.TemporaryDirectory() as folder:
            output, code = bed.run(bed.python(f"{bed.SOURCE}/tools/train/train.py", "--backend", "l3dml", "--steps",
                                              str(steps), "--out", folder),
                                   "--world", "2", "--loss", str(loss), "--seed", str(seed))
            if code:
                return [("training script", f"exit code {code}\n{output}")]
            results = [json.load(open(f"{folder}/rank{r}.json")) for r in range(2)]
            hashes += [r["weights_sha256"] for r in results]
            lost = results[0]["l3dml"]["retransmitted"]
    return [("training script", None if results[0]["steps"] == steps else results[0]),
            ("same seed, same weights, whatever is lost", None if len(set(hashes)) == 1 else hashes),
            ("packets were lost and sent again", None if lost > 0 else results[0]["l3dml"])]


sys.exit(bed.tap([same_weights_as_gloo, buckets_overlap_with_the_backward_pass, runs_under_torchrun,
                  same_seed_same_weights_whatever_is_lost]))

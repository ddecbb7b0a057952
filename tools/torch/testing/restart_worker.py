"""Runs under torchrun, which starts all ranks again when one dies: rank 1 dies once, in the middle of a sum. What is done is
kept in a file, as a training script keeps checkpoints.

usage: restart_worker.py CHECKPOINT
"""
import os
import signal
import sys

import torch
import torch.distributed as dist

import l3dml_torch  # noqa: F401  registers the backend

STEPS = 30


def main():
    torch.set_num_threads(1)
    dist.init_process_group("l3dml")
    rank, world, attempt = dist.get_rank(), dist.get_world_size(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    done, weights = torch.load(sys.argv[1]) if os.path.exists(sys.argv[1]) else (0, torch.zeros(50_000))
    dist.barrier()
    print(f"rank {rank} attempt {attempt} begins with step {done}", flush=True)
    for step in range(done, STEPS):
        gradient = torch.full_like(weights, float(rank + 1))
        work = dist.all_reduce(gradient, async_op=True)
        if attempt == 0 and rank == 1 and step == STEPS // 2:
            os.kill(os.getpid(), signal.SIGKILL)
        work.wait()
        weights += gradient
        if rank == 0:
            torch.save((step + 1, weights), sys.argv[1] + ".new")
            os.rename(sys.argv[1] + ".new", sys.argv[1])
    assert (weights == STEPS * world * (world + 1) / 2).all(), weights
    print(f"rank {rank} attempt {attempt} ended well", flush=True)
    dist.destroy_process_group()


main()

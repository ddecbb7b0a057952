#!/usr/bin/env python3
"""Times allreduces of one size over any backend, each checked against the exact sum.

One process per worker, as the lab starts them (RANK, WORLD_SIZE, L3DML_BACKEND, L3DML_OUT in the environment). Every rank
waits for all others before each sum, so that what is measured is the sum and not who was late. Prints "progress" lines
on rank 0 and writes rankN.json with step_times and communication_times.
"""
import argparse
import json
import os
import sys
import time

import torch
import torch.distributed as dist


def values(rank, count):
    """Whole numbers, so that sums are exact in any order."""
    return torch.randint(-1000, 1000, (count,), generator=torch.Generator().manual_seed(rank)).to(torch.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=4_000_000, help="float32 values of a sum")
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    torch.set_num_threads(1)
    backend = os.environ["L3DML_BACKEND"]
    if backend == "l3dml":
        import l3dml_torch
    dist.init_process_group(backend)
    rank, world = dist.get_rank(), dist.get_world_size()
    everybody = dist.new_group(backend="gloo")
    mine = values(rank, args.elements)
    exact = sum(values(r, args.elements) for r in range(world))
    times = []
    for step in range(1, args.steps + 1):
        tensor = mine.clone()
        dist.barrier(everybody)
        began = time.perf_counter()
        dist.all_reduce(tensor)
        times.append(time.perf_counter() - began)
        if not torch.equal(tensor, exact):
            sys.exit(f"step {step}: {(tensor != exact).sum().item()} of {args.elements} sums are wrong")
        if rank == 0:
            print(f"progress {step}/{args.steps} {32 * args.elements / times[-1] / 1e6:.1f} Mb/s", flush=True)
    result = {"step_times": times, "communication_times": times, "gradient_bytes": 4 * args.elements, "exact": True}
    if backend == "l3dml":
        result["l3dml"] = l3dml_torch.stats()
    with open(os.path.join(os.environ["L3DML_OUT"], f"rank{rank}.json"), "w") as file:
        json.dump(result, file)
    dist.barrier(everybody)
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())

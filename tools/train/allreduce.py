#!/usr/bin/env python3
"""Times allreduce of one float32 tensor, the same way for every backend: barrier, all_reduce, wait; again and again.

One process per worker, started as tools/train/train.py is. The result is checked against the sum each time. Standard
output: "progress ROUND/ROUNDS". --out DIR writes DIR/rankN.json: seconds of each round, bytes of the tensor.
"""
import argparse
import datetime
import json
import os
import sys
import time

import torch
import torch.distributed as dist


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=["l3dml", "gloo"], required=True)
    parser.add_argument("--init", default="env://", help="init_method of torch.distributed")
    parser.add_argument("--bytes", type=int, default=4 << 20, help="size of the tensor")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--warm-up", type=int, default=2, help="rounds before that are not counted")
    parser.add_argument("--timeout", type=float, default=120, help="seconds after which a collective has failed")
    parser.add_argument("--out", default=os.environ.get("L3DML_OUT", ""), help="directory for rankN.json")
    return parser.parse_args()


def main():
    args = parse()
    torch.set_num_threads(1)
    if args.backend == "l3dml":
        import l3dml_torch  # noqa: F401: registers the backend
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    dist.init_process_group(args.backend, init_method=args.init, rank=rank, world_size=world,
                            timeout=datetime.timedelta(seconds=args.timeout))
    count = args.bytes // 4
    inputs = [torch.randn(count, generator=torch.Generator().manual_seed(r)) for r in range(world)]
    expected = torch.stack([i.double() for i in inputs]).sum(0)
    tolerance = 2e-2 * float(expected.abs().max())  # the coarsest lane format has 8 bits
    times, worst = [], 0.0
    for number in range(args.warm_up + args.rounds):
        tensor = inputs[rank].clone()
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(tensor)
        times.append(time.perf_counter() - start)
        worst = max(worst, float((tensor.double() - expected).abs().max()))
        if worst > tolerance * world:
            raise SystemExit(f"rank {rank}: the sum is wrong by {worst}")
        if rank == 0:
            print(f"progress {number + 1}/{args.warm_up + args.rounds} {times[-1]:.4f} s", flush=True)
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        with open(os.path.join(args.out, f"rank{rank}.json"), "w") as file:
            json.dump({"backend": args.backend, "rank": rank, "world": world, "bytes": args.bytes, "worst_error": worst,
                       "seconds": times[args.warm_up:]}, file)
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())

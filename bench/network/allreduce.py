#!/usr/bin/env python3
"""Times allreduce of float32 tensors, the same way for every backend: barrier, all_reduce, wait; again and again.

One process per worker, started as tools/train/train.py is. The result is checked against the sum each time. Standard
output: "progress ROUND/ROUNDS". --out DIR writes DIR/rankN.json: seconds of each round, by bytes of the tensor.
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
    parser.add_argument("--plan", help="several sizes instead: BYTES:ROUNDS,...")
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
    plan = [tuple(map(int, part.split(":"))) for part in args.plan.split(",")] if args.plan else [(args.bytes, args.rounds)]
    total, done = sum(args.warm_up + rounds for _, rounds in plan), 0
    seconds, worst = {}, 0.0
    for size, rounds in plan:
        # Large tensors repeat one block, so that making and checking them takes little beside summing them.
        block = min(size // 4, 1 << 16)
        inputs = [torch.randn(block, generator=torch.Generator().manual_seed(r)) for r in range(world)]
        expected = torch.stack(inputs).double().sum(0).float()
        # Eight bits for four workers leave five and a sign, twice as coarse while exponents are predicted.
        coarse = args.backend == "l3dml" and os.environ.get("L3DML_FORMAT") == "fixed8x4"
        tolerance = (8e-2 if coarse else 2e-2) * float(expected.abs().max())
        times = []
        for _ in range(args.warm_up + rounds):
            tensor = inputs[rank].repeat(-(-size // 4 // block))[: size // 4].contiguous()
            dist.barrier()
            start = time.perf_counter()
            dist.all_reduce(tensor)
            times.append(time.perf_counter() - start)
            errors = [float((part - expected[: len(part)]).abs().max()) for part in tensor.split(block)]
            worst = max(worst, *errors)
            if worst > tolerance * world:
                raise SystemExit(f"rank {rank}: the sum is wrong by {worst}")
            done += 1
            if rank == 0:
                print(f"progress {done}/{total} {size} bytes {times[-1]:.4f} s", flush=True)
        seconds[size] = times[args.warm_up:]
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        with open(os.path.join(args.out, f"rank{rank}.json"), "w") as file:
            json.dump({"backend": args.backend, "rank": rank, "world": world, "worst_error": worst, "sizes": seconds}, file)
    dist.barrier()
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs on every rank of a lab: sums whose value tells who is in them, until something has happened and then some more.

usage: elastic_worker.py UNTIL     UNTIL: lost (a rank is), back (it is again)
Every rank gives 2^rank, so all ranks see in the sums who took part, and end after the same one. A line per sum:
"sum NUMBER LEAST MOST SHA256".
"""
import hashlib
import sys

import torch
import torch.distributed as dist

import l3dml_torch

MORE = 20  # sums after it has happened


def main():
    torch.set_num_threads(1)
    dist.init_process_group("l3dml")
    rank, world = dist.get_rank(), dist.get_world_size()
    everybody = float(2**world - 1)
    number = l3dml_torch.first_sum()
    print(f"rank {rank} begins with sum {number}", flush=True)
    lost, more = number > 0, MORE
    while more:
        tensor = torch.full((100_000,), float(2**rank))
        dist.all_reduce(tensor)
        least, most = tensor.min().item(), tensor.max().item()
        digest = hashlib.sha256(tensor.numpy().tobytes()).hexdigest()[:16]
        print(f"sum {number} {least:.0f} {most:.0f} {digest}", flush=True)
        number += 1
        lost = lost or most < everybody
        if lost and (sys.argv[1] == "lost" or least == everybody):
            more -= 1
    dist.destroy_process_group()
    print(f"rank {rank} ended well", flush=True)


main()

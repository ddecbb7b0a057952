#!/usr/bin/env python3
"""Trains a convolutional net of a million parameters on scikit-learn's handwritten digits with DistributedDataParallel.

One process per worker, as torchrun or the lab starts them: RANK and WORLD_SIZE in the environment, and
    --backend l3dml   L3DML_JOB names the job file, build/tools/torch is on PYTHONPATH
    --backend gloo    GLOO_SOCKET_IFNAME names the interface
    --backend ps      a parameter server: rank 0 sums what all ranks send to it and sends each the sum; over gloo's TCP

Everything but the backend is the same in both runs: data split, order, initial weights, and how time is measured. A
communication hook notes when the first gradient bucket of a step is ready and when the last one is summed; what lies
between is the step's communication time, overlap with the backward pass included.

Standard output: "progress STEP/STEPS ..." lines on rank 0. --out DIR writes DIR/rankN.json on every rank.
"""
import argparse
import datetime
import hashlib
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Net(nn.Module):
    """8x8 pixels in, ten classes out; 1,061,650 parameters."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 4 * 4, 1400)
        self.fc2 = nn.Linear(1400, 240)
        self.fc3 = nn.Linear(240, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))


def digits():
    """Train and test images with labels; the split is the same whatever the seed."""
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16 - 0.5
    labels = torch.tensor(data.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(20))
    images, labels = images[order], labels[order]
    return images[360:], labels[360:], images[:360], labels[:360]


class CommunicationClock:
    """A DDP communication hook that sums buckets as DDP itself does, and notes when they began and ended."""

    def __init__(self, world):
        self.world = world
        self.first_ready, self.last_done, self.bytes = None, None, 0

    def hook(self, _, bucket):
        if self.first_ready is None:
            self.first_ready = time.perf_counter()
        buffer = bucket.buffer().div_(self.world)
        self.bytes += buffer.numel() * buffer.element_size()
        return dist.all_reduce(buffer, async_op=True).get_future().then(self.done)

    def parameter_server_hook(self, _, bucket):
        """The same sums through rank 0: in by n - 1 flows, out by n - 1. One bucket after the other, in the order of DDP."""
        if self.first_ready is None:
            self.first_ready = time.perf_counter()
        buffer = bucket.buffer().div_(self.world)
        self.bytes += buffer.numel() * buffer.element_size()
        serves = dist.get_rank() == 0
        parts = [torch.empty_like(buffer) for _ in range(self.world)] if serves else None
        dist.gather(buffer, parts, dst=0)
        dist.scatter(buffer, [torch.stack(parts).sum(0)] * self.world if serves else None, src=0)
        self.last_done = time.perf_counter()
        future = torch.futures.Future()
        future.set_result(buffer)
        return future

    def done(self, future):
        self.last_done = time.perf_counter()
        return future.value()[0]

    def take(self):
        """Seconds and bytes of the step that has just ended."""
        seconds, size = self.last_done - self.first_ready, self.bytes
        self.first_ready, self.last_done, self.bytes = None, None, 0
        return seconds, size


def batches(seed, epochs, rank, world, batch, count):
    """Indices of this rank's part of every step's batch; whole batches only, so that all ranks have equal work."""
    for epoch in range(epochs):
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed * 1000 + epoch))
        for first in range(0, count - batch * world + 1, batch * world):
            yield order[first + rank * batch:first + (rank + 1) * batch]


def weights_hash(model):
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=["l3dml", "gloo", "ps"], required=True)
    parser.add_argument("--init", default="env://", help="init_method of torch.distributed, e.g. file:///tmp/store")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps; 0: after the epochs")
    parser.add_argument("--batch", type=int, default=32, help="images per worker and step")
    parser.add_argument("--lr", type=float, default=0.002)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120, help="seconds after which a collective has failed")
    parser.add_argument("--out", default="", help="directory for rankN.json")
    return parser.parse_args()


def main():
    args = parse()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if args.backend == "l3dml":
        import l3dml_torch
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    dist.init_process_group("gloo" if args.backend == "ps" else args.backend, init_method=args.init, rank=rank, world_size=world,
                            timeout=datetime.timedelta(seconds=args.timeout))

    torch.manual_seed(args.seed)
    train_x, train_y, test_x, test_y = digits()
    net = Net()
    clock = CommunicationClock(world)
    model = nn.parallel.DistributedDataParallel(net, broadcast_buffers=False, bucket_cap_mb=1)
    model.register_comm_hook(None, clock.parameter_server_hook if args.backend == "ps" else clock.hook)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    plan = list(batches(args.seed, args.epochs, rank, world, args.batch, len(train_y)))
    plan = plan[:args.steps] if args.steps else plan
    step_times, communication_times, gradient_bytes, losses = [], [], 0, []
    began = time.perf_counter()
    for step, indices in enumerate(plan, 1):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(train_x[indices]), train_y[indices])
        loss.backward()
        optimizer.step()
        step_times.append(time.perf_counter() - start)
        seconds, gradient_bytes = clock.take()
        communication_times.append(seconds)
        losses.append(loss.item())
        if rank == 0:
            print(f"progress {step}/{len(plan)} loss {losses[-1]:.4f} step {step_times[-1]:.3f} s", flush=True)
    training_time = time.perf_counter() - began

    with torch.no_grad():
        accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
    # The first steps hold set-up that recurs never: DDP orders its buckets anew, TCP starts slowly.
    warm = 2 if len(plan) > 4 else 0
    communication = statistics.median(communication_times[warm:])
    result = {
        "backend": args.backend, "rank": rank, "world": world, "seed": args.seed, "steps": len(plan),
        "parameters": sum(p.numel() for p in net.parameters()), "gradient_bytes": gradient_bytes,
        "step_time": statistics.median(step_times[warm:]), "communication_time": communication,
        "goodput": 8 * gradient_bytes / communication, "training_time": training_time,
        "accuracy": accuracy, "loss": losses[-1], "weights_sha256": weights_hash(net),
        "step_times": step_times, "communication_times": communication_times, "losses": losses,
    }
    if args.backend == "l3dml":
        result["l3dml"] = l3dml_torch.stats()
    if args.out:
        os.makedirs(args.out, exist_ok=True)
        with open(os.path.join(args.out, f"rank{rank}.json"), "w") as file:
            json.dump(result, file)
    if rank == 0:
        print(f"done accuracy {accuracy:.4f} step {result['step_time']:.3f} s communication {communication:.3f} s "
              f"weights {result['weights_sha256'][:16]}", flush=True)
    dist.barrier()
    del model, optimizer
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The published procedure in eager PyTorch, written after the paper: the yardstick.

One student at a time; for each, the teacher's every layer is evaluated on the batch again; Adam.
"""

from collections.abc import Callable

import torch

EPS = torch.finfo(torch.float32).eps


def rms_norm(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS)


class Block(torch.nn.Module):
    def __init__(self, width: int, scale: float):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width, bias=False)
        with torch.no_grad():
            self.down.weight.mul_(scale)

    def forward(self, h):
        return h + self.down(torch.relu(self.up(rms_norm(h))).square())


class Net(torch.nn.Module):
    def __init__(self, width: int, depth: int, scale: float):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(width, scale) for _ in range(depth))

    def forward(self, x):
        h = rms_norm(x)
        for block in self.blocks:
            h = block(h)
        return rms_norm(h)


def ladder(
    depths: tuple[int, ...], *, width: int, teacher_depth: int, batch: int
) -> Callable[[], None]:
    """A function that trains every depth for one step, one after another."""
    torch.manual_seed(0)
    teacher = Net(width, teacher_depth, teacher_depth**-0.5).requires_grad_(False)
    students = [Net(width, depth, 0.0) for depth in depths]
    optimizers = [torch.optim.Adam(s.parameters(), lr=6e-4) for s in students]

    def step() -> None:
        for student, optimizer in zip(students, optimizers, strict=True):
            x = torch.randn(batch, width)
            with torch.no_grad():
                target = teacher(x)
            loss = torch.nn.functional.mse_loss(student(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return step

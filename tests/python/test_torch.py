"""The reader's frames inside a PyTorch program, with a GPU if there is one.

python test_torch.py harness.so: modules, hooks, backward passes (on the thread that
PyTorch makes for a device, too), frames that TorchDynamo runs instead of the interpreter."""
import ctypes
import sys
import threading

import torch
import test_frames as t

seen = {}


def look(where):
    seen[where] = [f.name.split(".")[-1] for f in t.look(t.FREE)]
    t.look(t.HELD)
    seen[where + " thread"] = threading.get_ident()


class Sync(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        look("forward")
        return x * 2

    @staticmethod
    def backward(ctx, g):
        look("backward")
        return g * 2


class Inner(torch.nn.Module):
    def forward(self, x):
        return Sync.apply(x)


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(Inner(), torch.nn.Sequential(Inner(), Inner()))

    def forward(self, x):
        return self.layers(x)


def train_step(device):
    model = Outer().to(device)
    model.register_forward_hook(lambda *_: look("hook"))
    x = torch.ones(8, device=device, requires_grad=True)
    y = model(x).sum()
    y.backward()
    assert x.grad[0].item() == 8
    assert seen["forward"][:3] == ["look", "look", "forward"] and "train_step" in seen["forward"], seen["forward"]
    assert "train_step" in seen["hook"]
    assert "backward" in seen["backward"]
    other = seen["backward thread"] != threading.get_ident()
    assert ("train_step" in seen["backward"]) == (not other), seen["backward"]
    return other


quiet = torch._dynamo.disable(look)  # else TorchDynamo splits the frames of look() as well


def compiled():
    @torch.compile(backend="eager")
    def f(x):
        y = x + 1
        torch._dynamo.graph_break()
        quiet("compiled")
        return y * 2

    f(torch.ones(3))
    f(torch.ones(3))
    assert "compiled" in seen["compiled"], seen["compiled"]


def deep(n, depth):
    return deep(n - 1, depth) if n else t.FREE.harness_time(100, ctypes.byref(depth))


class Timed(torch.nn.Module):
    def forward(self, x):
        depth = ctypes.c_int()
        print("torch: walk of %(d)d frames %(ns).0f ns" % {"ns": t.FREE.harness_time(100, ctypes.byref(depth)), "d": depth.value})
        return x


def main():
    assert t.FREE.harness_find() == 1, t.FREE.harness_status()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    other = train_step(device)
    train_step("cpu")
    nested = Timed()
    for _ in range(8):
        nested = torch.nn.Sequential(nested)
    nested(torch.ones(1))
    compiled()
    t.test_threads()
    t.test_coroutines()
    depth = ctypes.c_int()
    ns = deep(29, depth)
    print("torch %s on %s, python %s: %d stacks compared, backward on %s thread, %d frames %.0f ns, %s" % (
        torch.__version__, device, sys.version.split()[0], t.looks, "another" if other else "the same", depth.value, ns,
        t.FREE.harness_status().decode()))


main()

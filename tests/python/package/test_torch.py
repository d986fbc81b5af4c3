"""gpufl.torch with the installed PyTorch (Debian has 1.13 for the processor): scopes in a session without a GPU."""
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import PATIENCE, tree

import gpufl

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(inplace=True))
        self.head = torch.nn.Linear(8, 1)

    def forward(self, x):
        return {"loss": self.head(self.body(x)).sum()}


@pytest.fixture
def net():
    model = Net()
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def train(model, optimizer, count=2):
    for x in gpufl.torch.steps([torch.ones(4, 8)] * count):
        model(x)["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()


def test_a_training_loop(begin, log, net):
    assert begin()
    with gpufl.torch.instrument(*net):
        train(*net)
    train(*net, count=1)
    one = ["data", "train_step", "train_step/forward", "train_step/forward/body", "train_step/forward/head",
           "train_step/backward", "train_step/backward/head", "train_step/backward/body", "train_step/optimizer"]
    seen = log()
    assert tree(seen) == one + one + ["data", "data", "train_step", "data"]
    rows = seen.scopes()
    assert {row["tag"] for row in rows if row["name"] == "optimizer"} == {"SGD"}
    assert [row["tag"] for row in rows if row["name"] == "body" and ":" in row["tag"]][0].startswith("test_torch.py:")
    assert {row["tag"] for row in rows if row["name"] == "train_step"} == {"0", "1"}


def test_the_model_computes_the_same(begin, net):
    model, _ = net
    x = torch.ones(4, 8)
    bare = model(x)["loss"]
    bare.backward()
    gradients = [weight.grad.clone() for weight in model.parameters()]
    model.zero_grad()
    assert begin()
    with gpufl.torch.instrument(model, depth=3):
        again = model(x)["loss"]
        again.backward()
    assert again == bare
    for weight, gradient in zip(model.parameters(), gradients):
        assert torch.equal(weight.grad, gradient)


def test_removed_hooks_leave_nothing(begin, log, net):
    model, optimizer = net
    before = dict(vars(optimizer))
    hooks = gpufl.torch.instrument(model, optimizer)
    hooks.remove()
    hooks.remove()
    assert begin()
    model(torch.ones(4, 8))["loss"].backward()
    optimizer.step()
    assert not log().scopes()
    for module in model.modules():
        assert not module._forward_hooks and not module._forward_pre_hooks
    assert set(vars(optimizer)) == set(before)


def test_depth_and_no_backward(begin, log, net):
    assert begin()
    with gpufl.torch.instrument(net[0], depth=0, backward=False):
        net[0](torch.ones(4, 8))["loss"].backward()
    assert tree(log()) == ["forward"]


def test_a_backward_pass_that_raises_does_not_take_the_next_one(begin, log, net):
    model, _ = net

    def refuse(gradient):
        raise KeyError("the program's own")

    assert begin()
    with gpufl.torch.instrument(model, depth=0):
        loss = model(torch.ones(4, 8))["loss"]
        hook = model.head.weight.register_hook(refuse)
        with pytest.raises(KeyError, match="the program's own"):
            loss.backward()
        hook.remove()
        model(torch.ones(4, 8))["loss"].backward()
    assert tree(log()) == ["forward", "backward", "forward", "backward"]


def test_a_loop_that_is_left(begin, log):
    assert begin()
    for _ in gpufl.torch.steps(iter(range(5)), name="iteration"):
        break
    with gpufl.Scope("after"):
        pass
    assert tree(log()) == ["data", "iteration", "after"]


@pytest.mark.parametrize("wrong, error", [
    (lambda net: gpufl.torch.instrument(5), TypeError), (lambda net: gpufl.torch.instrument(net[0], net[0]), TypeError),
    (lambda net: gpufl.torch.instrument(net[0], depth=-1), ValueError),
    (lambda net: gpufl.torch.instrument(net[0], depth="1"), TypeError)])
def test_wrong_calls(net, wrong, error):
    with pytest.raises(error, match=r"instrument\(\)"):
        wrong(net)


def test_without_a_session(net):
    with gpufl.torch.instrument(*net):
        train(*net)


def test_the_example(tmp_path):
    path = pathlib.Path(__file__).resolve().parents[3] / "examples/python/torch_loop.py"
    done = subprocess.run([sys.executable, path, "--steps", "5", "--logs", tmp_path / "logs"], capture_output=True, text=True,
                          env=dict(os.environ, CUDA_VISIBLE_DEVICES=""), timeout=PATIENCE, check=True)
    rows = {words[0]: int(words[1]) for line in done.stdout.splitlines() if len(words := line.split()) == 4 and words[1].isdigit()}
    assert {name: rows[name] for name in ("train_step", "forward", "backward", "optimizer", "data")} == {
        "train_step": 5, "forward": 5, "backward": 5, "optimizer": 5, "data": 6}

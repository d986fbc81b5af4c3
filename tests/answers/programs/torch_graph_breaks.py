"""torch.compile makes CUDA graphs of each block, and a function that it must not compile breaks every one of them
in two. Cure: the compiler gets the function as well, and a break would be an error (fullgraph)."""
import json
import sys
import time

import torch

CURE = "cure" in sys.argv
WIDTH, BLOCKS, WARM, STEPS = 512, 6, 8, 100


def tame(x):
    """Reduces outliers, the more the farther they are from the others of their row."""
    centre = x.mean(-1, keepdim=True)
    spread = (x - centre).abs().amax(-1, keepdim=True).clamp_min(1e-3)
    unit = (x - centre) / spread
    soft = torch.sign(unit) * torch.log1p(unit.abs() * 4) / 1.6
    keep = torch.sigmoid((unit.abs() - 0.5) * 8)
    return centre + spread * (soft * keep + unit * (1 - keep))


if not CURE:
    tame = torch.compiler.disable(tame)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.mix = torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.mix(self.norm(x))
        x = tame(x)
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


blocks = [torch.compile(Block().cuda().bfloat16().eval(), mode="reduce-overhead", fullgraph=CURE)
          for _ in range(BLOCKS)]
images = torch.randn(4, 128, WIDTH, device="cuda", dtype=torch.bfloat16)
with torch.no_grad():
    for step in range(WARM + STEPS):
        if step == WARM:
            torch.cuda.synchronize()
            start = time.perf_counter()
        torch.compiler.cudagraph_mark_step_begin()
        x = images
        for block in blocks:
            x = block(x)
torch.cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

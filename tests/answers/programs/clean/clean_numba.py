"""Clean: a kernel of Numba works on large arrays that stay on the GPU."""
import json
import math
import time

import numpy
numpy.row_stack = numpy.vstack  # older releases of numba need it
from numba import cuda


@cuda.jit
def smooth(x, y):
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        y[i] = math.sqrt(x[i - 1] * x[i - 1] + x[i] * x[i] + x[i + 1] * x[i + 1])


x, y = (cuda.device_array(1 << 27, numpy.float32) for _ in range(2))
for k in range(2000):
    if k == 20:
        cuda.synchronize()
        start = time.perf_counter()
    smooth[(1 << 27) // 256, 256](x, y)
    x, y = y, x
cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

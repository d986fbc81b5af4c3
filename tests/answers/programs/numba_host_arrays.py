"""A kernel of Numba is called with NumPy's arrays: each call copies them to the GPU and back. Cure: device arrays."""
import json
import math
import sys
import time

import numpy
numpy.row_stack = numpy.vstack  # older releases of numba need it
from numba import cuda

CURE = "cure" in sys.argv


@cuda.jit
def smooth(x, y):
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        y[i] = math.sqrt(x[i - 1] * x[i - 1] + x[i] * x[i] + x[i + 1] * x[i + 1])


x, y = numpy.ones(1 << 23, numpy.float32), numpy.zeros(1 << 23, numpy.float32)
if CURE:
    x, y = cuda.to_device(x), cuda.to_device(y)
for k in range(65):
    if k == 5:
        cuda.synchronize()
        start = time.perf_counter()
    smooth[(1 << 23) // 256, 256](x, y)
cuda.synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

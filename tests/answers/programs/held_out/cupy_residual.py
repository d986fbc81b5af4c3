"""CuPy relaxes a field; the largest change is read after each iteration. Cure: it is read after each 200th."""
import json
import sys
import time

import cupy

CURE = "cure" in sys.argv
SIZE, STEPS, WARM = 2048, 33000, 1000
relax = cupy.ElementwiseKernel("raw float32 x, int32 width", "float32 y", """
    int row = i / width, column = i % width;
    bool edge = row == 0 || row == width - 1 || column == 0 || column == width - 1;
    y = edge ? x[i] : 0.25f * (x[i - 1] + x[i + 1] + x[i - width] + x[i + width]);
""", "relax")
field = cupy.zeros(SIZE * SIZE, dtype=cupy.float32)
field[:SIZE] = 1000
after = cupy.empty_like(field)
spent = 0.0
for k in range(STEPS):
    if k == WARM:
        cupy.cuda.Device().synchronize()
        start, spent = time.perf_counter(), 0.0
    relax(field, SIZE, after)
    change = cupy.abs(after - field).max()
    begin = time.perf_counter()
    if not CURE or k % 200 == 0:
        if float(change) < 1e-6:
            break
    spent += time.perf_counter() - begin
    field, after = after, field
cupy.cuda.Device().synchronize()
print(json.dumps({"spent_s": spent, "work_s": time.perf_counter() - start}))

"""Clean: CuPy transforms a large array back and forth."""
import json
import time

import cupy

x = cupy.random.random((64, 1024, 1024), dtype=cupy.float32).astype(cupy.complex64)
for k in range(420):
    if k == 20:
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
    x = cupy.fft.ifft2(cupy.fft.fft2(x))
cupy.cuda.Device().synchronize()
print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - start}))

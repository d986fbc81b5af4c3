"""A training loop that loads its kernel's code in every step, while the GPU has nothing to do; clean: once."""
import ctypes

from gpu import MS, check, cuda, image, launch, open_gpu, stream


def fetch():
    module, found = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(image())))  # PLANTED: py-load
    check(cuda.cuModuleGetFunction(ctypes.byref(found), module, b"spin"))
    return found


def train(steps, once):
    s = stream()
    spin = fetch() if once else None
    for _ in range(steps):
        launch(spin or fetch(), s, MS // 2)
    check(cuda.cuStreamSynchronize(s))  # PLANTED: py-load-end


train(50, open_gpu())

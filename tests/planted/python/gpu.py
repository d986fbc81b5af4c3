"""The driver for the planted Python programs, by ctypes: the fake one or a real one.

Calls that wait are made by the programs themselves, so that they are found there."""
import ctypes
import pathlib
import sys

cuda = ctypes.CDLL("libcuda.so.1")
US, MS, SMS = 1000, 1000000, 132
_context, _module = ctypes.c_void_p(), ctypes.c_void_p()


def check(result):
    if result:
        sys.exit(f"CUDA error {result}")


def use_context():
    """Makes the context of this thread's calls."""
    check(cuda.cuCtxSetCurrent(_context))


def image():
    """Loads the code of the kernels."""
    return (pathlib.Path(__file__).resolve().parent.parent / "kernels.ptx").read_bytes()


def open_gpu():
    """Initializes the driver. True: the program must run without its fault."""
    device = ctypes.c_int()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(_context), device))
    use_context()
    check(cuda.cuModuleLoadData(ctypes.byref(_module), ctypes.c_char_p(image())))
    return sys.argv[1] == "clean"


def stream():
    made = ctypes.c_void_p()
    check(cuda.cuStreamCreate(ctypes.byref(made), 1))
    return made


def kernel(name):
    found = ctypes.c_void_p()
    check(cuda.cuModuleGetFunction(ctypes.byref(found), _module, name.encode()))
    return found


def launch(function, on, ns):
    """Launches a kernel that runs for that many ns on every SM."""
    time = ctypes.c_int64(ns)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(time))
    check(cuda.cuLaunchKernel(function, SMS, 1, 1, 256, 1, 1, 0, on, arguments, None))

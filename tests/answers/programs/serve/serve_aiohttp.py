"""aiohttp serves torchvision's ResNet-50; the handler decodes images in Python. Cure: NumPy decodes them."""
import asyncio
import json
import sys
import time

CURE, SIZE = "cure" in sys.argv, 3 * 224 * 224


def client(port, body, users=2, warm=5, requests=30):
    """Sends requests over HTTP, each user one after the other, and prints the times."""
    import http.client
    import threading
    times, starts = [], []

    def user():
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for k in range(warm + requests):
            begin = time.perf_counter()
            connection.request("POST", "/", body)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.reason
            if k >= warm:
                starts.append(begin)
                times.append(time.perf_counter() - begin)

    threads = [threading.Thread(target=user) for _ in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    print(json.dumps({"spent_s": None, "work_s": time.perf_counter() - min(starts),
                      "p99_s": times[int(len(times) * 0.99)]}), flush=True)


if "client" in sys.argv:
    client(int(sys.argv[-1]), bytes(SIZE))
    sys.exit()

import numpy
import torch
from aiohttp import web
from torchvision.models import resnet50

model = resnet50().to("cuda", torch.bfloat16).eval()


def decode(body):
    if CURE:
        pixels = (numpy.frombuffer(body, numpy.uint8).astype(numpy.float32) - 128) / 64
        return torch.from_numpy(pixels)
    return torch.tensor([(byte - 128) / 64 for byte in body])


async def predict(request):
    image = decode(await request.read()).view(1, 3, 224, 224).to("cuda", torch.bfloat16)
    with torch.no_grad():
        return web.json_response({"label": model(image).argmax().item()})


async def main():
    app = web.Application()
    app.router.add_post("/", predict)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    process = await asyncio.create_subprocess_exec(sys.executable, __file__, "client", str(port))
    await process.wait()
    await runner.cleanup()


asyncio.run(main())

// What the tab of waits says of a line: the kinds of calls that waited there, in the report's names.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { calledAt, shortFunction, shortFunctions } from "../src/pages/syncs/calls";
import { syncs } from "../src/text/syncs";

describe("kinds of calls that wait", () => {
  const of = (call: string, calls: number, total_ns: number) => ({ call, calls, total_ns });
  it("come with their time, the longest first, in the vendor's words", () => {
    const line = { by_call: [of("event", 4, 10), of("context", 1, 90), of("copy", 2, 30)] };
    expect(calledAt(line, "nvidia").map(({ name, ns }) => [name, ns])).toEqual([["context synchronizations", 90], ["blocking copies", 30], ["event synchronizations", 10]]);
    expect(calledAt(line, "amd")[0]).toEqual({ name: "device synchronizations", calls: 1, ns: 90 });
  });
  it("of a newer report keep the report's name; an older report has none", () => expect([calledAt({ by_call: [of("fence", 1, 1)] }, "")[0]!.name, calledAt({}, "")]).toEqual(["fence", []]));
  it("all have a text", () => {
    const code = readFileSync(new URL("../../src/analyze/model/waits/lines.c", import.meta.url), "utf8");
    const table = code.slice(code.indexOf("calls[WAIT_CALLS] = {"), code.indexOf("};", code.indexOf("calls[WAIT_CALLS] = {")));
    const names = [...table.matchAll(/\[WAIT_\w+\] = \{"([^"]+)", "([^"]+)"/g)].map((m) => [m[1]!, m[2]!]);
    expect(names.length).toBe(10);
    expect(syncs.calls).toEqual({ ...Object.fromEntries(names), context: "context synchronizations" });
  });
});

describe("functions of waits", () => {
  it("have only short parameters, and not the first of many namespaces", () => {
    expect(shortFunction("stream_executor::gpu::(anonymous namespace)::LoadKernel(std::string const&, int)")).toBe("gpu::LoadKernel(string const&, int)");
    expect(shortFunction("stream_executor::gpu::internal::details::CudaStream::Memcpy(void*)")).toBe("internal::details::CudaStream::Memcpy(void*)");
    expect(shortFunction("stream_executor::gpu::CudaStream::WaitFor(stream_executor::Event*)")).toBe("gpu::CudaStream::WaitFor(Event*)");
    expect(shortFunction("void at::native::gpu_kernel_impl<__nv_hdl_wrapper_t<false, __nv_dl_tag<void (*)(at::Tensor&, float), 1u>, float (float, bool)> >(at::TensorIteratorBase&, float const&)")).toBe("at::native::gpu_kernel_impl<…>");
    expect(shortFunction("auto at::native::_efficient_attention_backward(at::Tensor const&, long)")).toBe("at::native::_efficient_attention_backward");
    expect(shortFunction("std::vector<int> make<float>(int)")).toBe("make<float>(int)");
    expect(shortFunction("bool std::operator< <char>(int)")).toBe("std::operator< <char>(int)");
    expect(shortFunction("Task::operator()(int) const")).toBe("Task::operator()(int) const");
    expect(shortFunction("Task::operator bool() const")).toBe("Task::operator bool() const");
    expect(shortFunction("std::ostream& operator<<(std::ostream&)")).toBe("operator<<(ostream&)");
    expect(shortFunction("train_step")).toBe("train_step");
    expect(shortFunction("(anonymous)")).toBe("(anonymous)");
  });

  it("show the template argument in which they differ from others of their table", () => {
    const of = (functor: string) => `void at::native::gpu_kernel_impl_nocast<at::native::${functor}<float, float, float> >(at::TensorIteratorBase&, at::native::${functor}<float, float, float> const&)`;
    const short = shortFunctions([of("BUnaryFunctor"), of("AUnaryFunctor"), of("AUnaryFunctor"), "train_step"]);
    expect([...short.values()]).toEqual(["gpu_kernel_impl_nocast<…BUnaryFunctor…>", "gpu_kernel_impl_nocast<…AUnaryFunctor…>", "train_step"]);
  });
});

// The format of numbers: three digits, units that suit, unknown is never zero.
import { describe, expect, it } from "vitest";
import { placeOf, placeText, sameFile } from "../src/format/place";
import { between, bytes, count, date, duration, exact, grouped, moments, percent, sentence, UNKNOWN } from "../src/format/format";

describe("durations", () => {
  it.each([
    [0, "0 ns"],
    [999, "999 ns"],
    [999.7, "1.00 µs"],
    [1500, "1.50 µs"],
    [999_499, "999 µs"],
    [999_600, "1.00 ms"],
    [73_580_000_000, "73.6 s"],
    [119_960_000_000, "2.00 min"],
    [2 * 3600e9, "2 h 0 min"],
    [-1500, "−1.50 µs"],
  ])("%d ns", (ns, text) => expect(duration(ns)).toBe(text));
  it("unknown", () => expect([duration(null), duration(undefined), duration(NaN)]).toEqual([UNKNOWN, UNKNOWN, UNKNOWN]));
});

describe("moments of a session", () => {
  it.each([
    [8_012_345_678, 6, "8.012\u202f345 s"],
    [8_012_346_000, 6, "8.012\u202f346 s"],
    [8_999_999_999, 3, "8.999 s"],
    [7_201_000_000_000, 3, "7\u202f201.000 s"],
    [-1_500_000, 6, "−0.001\u202f500 s"],
    [0, 3, "0.000 s"],
  ] as const)("%d ns with %d decimals", (ns, digits, text) => expect(moments(ns, digits)).toBe(text));
  it("unknown", () => expect(moments(null, 3)).toBe(UNKNOWN));
});

describe("bytes and counts", () => {
  it.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1024, "1.00 KiB"],
    [2 ** 20 - 1, "1.00 MiB"],
    [150_754_820_096, "140 GiB"],
  ])("%d bytes", (n, text) => expect(bytes(n)).toBe(text));
  it.each([
    [10_000, "10\u202f000"],
    [123_456, "123 k"],
    [1_234_567, "1.23 M"],
  ])("%d", (n, text) => expect(count(n)).toBe(text));
  it("groups whole digits only", () => expect(grouped(1234567.8912)).toBe("1\u202f234\u202f567.8912"));
  it("exact keeps all of them", () => expect(exact(145767523, "ns")).toBe("145\u202f767\u202f523 ns"));
  it("exact of the unknown", () => expect(exact(null)).toBe("unknown"));
});

describe("parts", () => {
  it.each([
    [0, "0.0 %"],
    [0.0004, "< 0.1 %"],
    [0.237214, "24 %"],
    [0.027598, "2.8 %"],
    [1, "100 %"],
    [0.9999, "> 99.9 %"],
    [0.9942, "99.4 %"],
  ])("%d", (part, text) => expect(percent(part)).toBe(text));
});

describe("times", () => {
  it("64 bits survive as text", () => expect(between("1795198386453742295", "1795198386925051789")).toBe(471309494));
  it("no end, no length", () => expect(between("1", null)).toBeNull());
  it("no date", () => expect(date(null)).toBe(UNKNOWN));
});

describe("sentences of the analysis", () => {
  it.each([
    ["The GPU idles 9.41 us (12%) a call, 3 us at least.", "The GPU idles 9.41 µs (12%) a call, 3 µs at least."],
    ["bus_us 5 users, 12 usual ones", "bus_us 5 users, 12 usual ones"],
    ["1,200 launches, 12,345,678 in all (1,000).", "1\u202f200 launches, 12\u202f345\u202f678 in all (1\u202f000)."],
    ["gemm<128,128> of 64,128,8 and f(1,200)x", "gemm<128,128> of 64,128,8 and f(1,200)x"],
  ])("%s", (said, written) => expect(sentence(said)).toBe(written));
});

describe("source lines as text", () => {
  it("there and back; colons in the path stay", () => expect([placeOf(placeText({ file: "C:/a b/train.py", line: 7 })), placeOf("train.py"), placeOf(":7"), placeOf("a:1234567890")]).toEqual([{ file: "C:/a b/train.py", line: 7 }, null, null, null]));
  it("a file is meant by its very path, else by its name; an unknown path is no file", () => {
    const paths = ["/a/k.cu", "/b/k.cu", ""];
    expect(["/a/k.cu", "/c/k.cu", "/c/other.cu", "/a/"].map((file) => paths.filter(sameFile(paths, file)))).toEqual([["/a/k.cu"], ["/a/k.cu", "/b/k.cu"], [], []]);
  });
});

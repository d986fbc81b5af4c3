// The flame graph of a range: kernels by the stack that launched them, and samples by thread.
import { describe, expect, it } from "vitest";
import { Lines } from "../src/timeline/lines";
import { collapsed, knownPart, stacksOfLaunches, stacksOfSamples } from "../src/timeline/rangeFlame";

const DOCUMENT = {
  places: [null, { place: "train.py:7", file: "train.py", line: 7, function: "step" }],
  stacks: [0, 2, 1],
  nodes: { parent: [0, 0, 1], frame: [0, 1, 2], place: [0, 1, 1] },
  frames: [[], ["train.py:3 main()"], ["train.py:7 step()"]],
};
const lines = new Lines(DOCUMENT);
const NONE = "(no stack)";

describe("the stacks of a range", () => {
  it("have a kernel's time below the stack of its own record, or of the captured call with its correlation id", () => {
    const launches = [
      { duration: 5, stack: 1, correlation: 1, name: "add" },
      { duration: 7, stack: 0, correlation: 2, name: "add" },
      { duration: 11, stack: 0, correlation: 3, name: "add" },
      { duration: 13, stack: 0, correlation: null, name: "mul" },
    ];
    expect(stacksOfLaunches(launches, new Map([[2, 1]]), lines, NONE)).toEqual([
      { frames: ["train.py:3 main()", "train.py:7 step()", "add"], ns: 12 },
      { frames: [NONE, "add"], ns: 11 },
      { frames: [NONE, "mul"], ns: 13 },
    ]);
  });
  it("count samples below their thread", () => {
    const samples = [{ thread: 9, samples: 2, stack: 2 }, { thread: 9, samples: 1, stack: 2 }, { thread: 8, samples: 4, stack: null }, { thread: 8, samples: 0, stack: 1 }];
    expect(stacksOfSamples(samples, (thread) => `thread ${thread}`, lines, NONE)).toEqual([
      { frames: ["thread 9", "train.py:3 main()"], ns: 3 },
      { frames: ["thread 8", NONE], ns: 4 },
    ]);
  });
  it("are known of a part", () => {
    expect(knownPart([], NONE)).toBe(0);
    expect(knownPart([{ frames: [NONE, "add"], ns: 3 }, { frames: ["main()"], ns: 1 }], NONE)).toBe(0.25);
  });
  it("are copied one a line, and a frame's semicolon ends no frame", () => expect(collapsed([{ frames: ["a;b", "c"], ns: 12 }])).toBe("a,b;c 12\n"));
});

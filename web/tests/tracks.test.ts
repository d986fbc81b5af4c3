// Columns of a table that is wider than its place: the last one in view is there as a whole.
import { describe, expect, it } from "vitest";
import { tracksOf } from "../src/ui/Table";

const COLUMNS = [{ track: "48px" }, { track: "minmax(208px, 2fr)", lead: true }, { track: "160px" }, { track: "160px" }, { track: "96px" }];

describe("tracks of a table", () => {
  it("are as they were where there is room", () => {
    expect(tracksOf(COLUMNS, 672)).toEqual({ tracks: "3rem minmax(13rem, 2fr) 10rem 10rem 6rem", least: "42rem" });
    expect(tracksOf(COLUMNS, 0)).toEqual(tracksOf(COLUMNS, 672)); // not measured yet
  });
  it("widen the leading column up to the last whole column, left of what lies over the edge", () => {
    const { tracks, least } = tracksOf(COLUMNS, 654);
    expect(tracks).toBe("3rem minmax(17rem, 2fr) 10rem 10rem 6rem"); // 654 - 14 - (48 + 208 + 160 + 160) = 64 px
    expect(least).toBe("46rem");
  });
  it("leave less free for large letters, with which the button does not grow", () => {
    expect(tracksOf(COLUMNS, 654, 14 / 1.4375).least).toBe(`${(672 + 68) / 16}rem`); // 654 - 9.7 - 576 = 68 px
  });
  it("widen the column that grows in place of the leading one, if it is in view", () => {
    const at = (grows: number) => tracksOf(COLUMNS.map((column, n) => ({ ...column, grows: n === grows })), 654).tracks;
    expect(at(3)).toBe("3rem minmax(13rem, 2fr) 10rem 14rem 6rem");
    expect(at(4)).toBe("3rem minmax(17rem, 2fr) 10rem 10rem 6rem");
  });
  it("stay where fewer than three columns are in view", () => {
    expect(tracksOf(COLUMNS, 390).least).toBe("42rem");
  });
});

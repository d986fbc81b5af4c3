// The table of pages: the bar, the shortcuts, and addresses without some parts.
import { describe, expect, it } from "vitest";
import { addressOf, isOfView, menu, pageAt, pageOfKey, PAGES, type PageId } from "../src/router/pages";
import { href, match } from "../src/router/router";

const ids = Object.keys(PAGES) as PageId[];

describe("the bar", () => {
  it("has the pages with a name, in the order of the table", () =>
    expect(menu(false).map(({ name }) => name)).toEqual(["Fleet", "Sessions", "Compare", "Trends", "SQL", "Alerts", "Upload", "Settings"]));
  it("of gpufl view has what a folder of sessions can fill", () => expect(menu(true).map(({ page }) => page)).toEqual(["sessions", "compare", "trends", "sql"]));
  it("can be left for each of its pages without a part of an address", () => {
    for (const { page } of menu(false)) expect(match(href(page), "").page).toBe(page);
  });
  it("marks a page for each page that it does not have", () => {
    const bar = menu(false).map(({ page }) => page);
    for (const id of ids) if (!PAGES[id].menu && !PAGES[id].outside) expect(bar).toContain(PAGES[id].under);
  });
});

describe("the keys after g", () => {
  it("go to one page each", () => expect(["f", "s", "c", "t", "a", "u", ",", "x"].map((key) => pageOfKey(key, menu(false)))).toEqual(["fleet", "sessions", "compare", "trends", "alerts", "upload", "settings", undefined]));
  it("of `gpufl view` go to its own pages alone", () => expect(["f", "s", "c", "t", "a", "u", ","].map((key) => pageOfKey(key, menu(true)))).toEqual([undefined, "sessions", "compare", "trends", undefined, undefined, undefined]));
  it("are no two pages' own", () => {
    const keys = ids.flatMap((id) => PAGES[id].key ?? []);
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe("gpufl view", () => {
  it("has sessions and what belongs to them, and no page of a fleet", () => {
    const outside = ids.filter((id) => PAGES[id].outside);
    expect(ids.filter((id) => !isOfView(id) && !outside.includes(id))).toEqual(["host", "alerts", "upload", "settings"]);
    expect(isOfView("fleet")).toBe(true); // its address is the first one, which shows the sessions of the folder
  });
});

describe("an address", () => {
  it("that leaves out its last part has the standard one", () => {
    expect(pageAt(["sessions", "ab"])).toEqual({ page: "session", path: { session: "ab", tab: "insights" } });
    expect(pageAt(["settings"])).toEqual({ page: "settings", path: { part: "workspace" } });
    expect(addressOf("settings", {})).toBe("/settings/workspace");
    expect(addressOf("session", { session: "a/b" })).toBe("/sessions/a%2Fb/insights");
  });
  it("with too many or too few parts is none", () => {
    for (const have of [["sessions", "a", "kernels", "1", "2"], ["hosts"], ["runs"], ["fleet"], ["settings", "keys", "x"]]) expect(pageAt(have)).toBeNull();
  });
  it("is found again for every page", () => {
    for (const id of ids) {
      const path = Object.fromEntries([...PAGES[id].path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name!, "x y"]));
      expect(match(href(id, path), "")).toMatchObject({ page: id, path });
    }
  });
});

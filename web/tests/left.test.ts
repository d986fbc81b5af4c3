// Links back to views of a session open them as they were left; views over time share their part of the time.
import { expect, it } from "vitest";
import { asLeft, leave, viewFrom } from "../src/pages/session/left";
import { match } from "../src/router/router";

const at = (path: string, query = "") => match(path, query);

it("a view is come back to as it was left, from another view or page of the session", () => {
  leave("s", "kernels", "sort=calls&search=gemm");
  expect(viewFrom(at("/sessions/s/scopes"), "kernels")).toBe("/sessions/s/kernels?sort=calls&search=gemm");
  expect(viewFrom(at("/sessions/s/kernels/7"), "kernels")).toBe("/sessions/s/kernels?sort=calls&search=gemm");
  expect(asLeft("s", "kernels")).toBe("/sessions/s/kernels?sort=calls&search=gemm");
  expect(asLeft("other", "kernels")).toBe("/sessions/other/kernels");
});
it("the view that is shown leads to its beginning", () => expect(viewFrom(at("/sessions/s/kernels", "sort=calls"), "kernels")).toBe("/sessions/s/kernels"));
it("views over time show the same part", () => {
  leave("s", "system", "at=1-2");
  expect(viewFrom(at("/sessions/s/timeline", "at=5-9&pin=3"), "system")).toBe("/sessions/s/system?at=5-9");
  expect(viewFrom(at("/sessions/s/timeline", "pin=3"), "system")).toBe("/sessions/s/system");
  expect(viewFrom(at("/sessions/s/kernels"), "system")).toBe("/sessions/s/system?at=1-2");
});

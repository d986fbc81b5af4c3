// rows.ts - keys that go from row to row of a table.

/** The row that a key goes to from row `at` of `count`; null: the key does something else. page:
 * visible rows. */
export function rowAfter(key: string, at: number, count: number, page: number): number | null {
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: count - 1 }[key];
  return to === undefined ? null : Math.min(Math.max(to, 0), count - 1);
}

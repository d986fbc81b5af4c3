// Table.tsx - the table for all long lists: only visible rows are in the page, the head stays, and
// screen readers get the sorting. Column widths are CSS grid tracks, equal for all rows. Tab
// reaches the controls of one row; the arrow keys go from row to row.
import { flexRender, getCoreRowModel, getSortedRowModel, useReactTable, type ColumnDef, type Header, type Row, type SortingState } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useEffect, useLayoutEffect, useMemo, useRef, useState, type CSSProperties, type FocusEvent, type KeyboardEvent, type RefObject } from "react";
import { flushSync } from "react-dom";
import { en } from "../text/en";
import { Room, useRoom } from "./room";
import { rowAfter } from "./rows";
import { token } from "./theme";

export type { ColumnDef, SortingState } from "@tanstack/react-table";

declare module "@tanstack/react-table" {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars
  interface ColumnMeta<TData, TValue> {
    width: string; // a grid track
    right?: boolean;
    lead?: boolean;
    grows?: boolean; // takes the spare width in place of the column that leads, which may be a date
    stays?: boolean; // stays in view when the table is scrolled sideways: the first column
    label?: string;
  }
}

/** The part of a column in view from which on all of it counts as in view, because of rounding. */
const WHOLE = 0.97;

/** Rows that a printed table has at most. */
const PRINTED = 1000;

/** The height of a row in px, as the design says for this screen. */
const rowHeight = (): number => parseFloat(token("--row")) || 34;

interface Props<T> {
  caption: string;
  rows: T[];
  columns: readonly (ColumnDef<T, never> | ColumnDef<T>)[];
  sorting: SortingState;
  onSort?: (sorting: SortingState) => void;
  sortHere?: boolean; // the table sorts; otherwise the server has sorted
  onEnd?: () => void; // the last row came into view
}

interface LineProps {
  row: Row<unknown>;
  columns: unknown; // other columns need other cells
  index: number;
  start: number; // px from the top
  style: CSSProperties;
}

const controlsOf = (row: Element): HTMLElement[] => [...row.querySelectorAll<HTMLElement>("a[href], button, input")];
const indexOf = (row: Element): number => Number(row.getAttribute("aria-rowindex")) - 2; // after the head

/** Which row Tab comes to, and the keys that change it. */
function useRows(count: number, page: () => number, reveal: (index: number) => void) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [at, setAt] = useState(0);
  const goal = useRef<{ index: number; control: number } | null>(null);
  // A row out of view exists only after the table has scrolled.
  useLayoutEffect(() => {
    const row = goal.current && body.current?.querySelector(`[aria-rowindex="${goal.current.index + 2}"]`);
    if (!goal.current || !row) return;
    const controls = controlsOf(row);
    const control = controls[Math.min(goal.current.control, controls.length - 1)];
    control?.focus({ preventScroll: true }); // otherwise the browser scrolls it into the middle
    control?.scrollIntoView({ block: "nearest", inline: "nearest" });
    goal.current = null;
  });
  const rowOf = (target: EventTarget): Element | null => (target as Element).closest("tr");
  function onFocus(event: FocusEvent): void {
    const row = rowOf(event.target);
    if (row) setAt(indexOf(row));
  }
  function onKeyDown(event: KeyboardEvent): void {
    const row = rowOf(event.target);
    if (!row || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const index = rowAfter(event.key, indexOf(row), count, page());
    if (index === null) return;
    event.preventDefault();
    goal.current = { index, control: Math.max(0, controlsOf(row).indexOf(event.target as HTMLElement)) };
    if (!body.current?.querySelector(`[aria-rowindex="${index + 2}"]`)) reveal(index);
    setAt(index);
  }
  return { at, body, onFocus, onKeyDown };
}

/** True while columns are out of view to the right. An observer of the last head reports this: asking for the places of a
 * table at each turn of the wheel would make the browser lay the table out in the middle of a frame. */
function useMore(box: RefObject<HTMLDivElement | null>, columns: unknown): boolean {
  const [more, setMore] = useState(false);
  useEffect(() => {
    const last = box.current?.querySelector("thead th:last-child");
    if (!last) return;
    const rootMargin = "1000px 0px"; // a head that is higher than its row is in view all the same
    const watch = new IntersectionObserver((seen) => setMore(seen.at(-1)!.intersectionRatio < WHOLE), { root: box.current, rootMargin, threshold: [0, WHOLE] });
    watch.observe(last);
    return () => watch.disconnect();
  }, [box, columns]);
  return more;
}

/** The width of an element in px, before its first frame and whenever it changes. */
function useWidth(box: RefObject<HTMLDivElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = (): void => setWidth(element.clientWidth);
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, [box]);
  return width;
}

/** Whether the page is being printed. Paper does not scroll, so that all rows are made, up to
 * PRINTED. */
function usePrinting(): boolean {
  const [printing, setPrinting] = useState(() => matchMedia("print").matches);
  useEffect(() => {
    const media = matchMedia("print");
    const set = (on: boolean) => () => flushSync(() => setPrinting(on));
    const change = (): void => flushSync(() => setPrinting(media.matches));
    const [before, after] = [set(true), set(false)];
    media.addEventListener("change", change);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      media.removeEventListener("change", change);
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }, []);
  return printing;
}

/** Scrolls the focused control into view as a whole, within scroll-padding. Browsers do not
 * scroll to a control that is partly visible, and .table-more may cover the rest. After a press
 * of the mouse nothing moves. */
function uncover({ target, currentTarget }: FocusEvent): void {
  if (target !== currentTarget && target.matches(":focus-visible")) target.scrollIntoView({ block: "nearest", inline: "nearest" });
}

const tabTo = (row: Element | null, tabIndex: 0 | -1): void => (row ? controlsOf(row) : []).forEach((control) => (control.tabIndex = tabIndex));

/** A visible row is not made again while others arrive, because that took most of a scrolled
 * frame's time. Therefore a row does not know whether Tab reaches its controls; the table sets
 * it afterwards. */
const Line = memo(function Line({ row, index, start, style }: LineProps) {
  const line = useRef<HTMLTableRowElement>(null);
  useLayoutEffect(() => tabTo(line.current, -1));
  return (
    <tr ref={line} aria-rowindex={index + 2} style={{ ...style, transform: `translateY(${start}px)` }}>
      {row.getVisibleCells().map((cell) => (
        <td key={cell.id} className={classOf(cell.column.columnDef.meta)}>
          {flexRender(cell.column.columnDef.cell, cell.getContext())}
        </td>
      ))}
    </tr>
  );
});

function useModel<T>({ rows, columns, sorting, onSort, sortHere }: Props<T>) {
  return useReactTable({
    data: rows,
    columns: columns as unknown as ColumnDef<T>[],
    state: { sorting },
    onSortingChange: (change) => onSort?.(typeof change === "function" ? change(sorting) : change),
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
    manualSorting: !sortHere,
    enableSortingRemoval: false,
    sortDescFirst: true,
  });
}

/** The rows that are in the page: those in view with some around them, or on paper all. width: of
 * the table, on which a row's height depends (tokens.css). */
function useItems(box: RefObject<HTMLDivElement | null>, count: number, width: number, onEnd: (() => void) | undefined) {
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: rowHeight,
    overscan: 12,
    onChange: (v) => {
      const last = v.getVirtualItems().at(-1);
      if (onEnd && last && last.index >= count - 1) onEnd();
    },
  });
  useLayoutEffect(() => virtual.measure(), [virtual, width]);
  const printing = usePrinting();
  const items = printing ? Array.from({ length: Math.min(count, PRINTED) }, (_, index) => ({ index, start: 0 })) : virtual.getVirtualItems();
  return { virtual, items, cut: printing && count > PRINTED };
}

/** Lets Tab reach the controls of one row: of row `index`. */
function useStop(body: RefObject<HTMLElement | null>, index: number): void {
  const stopped = useRef<Element | null>(null);
  useLayoutEffect(() => {
    tabTo(stopped.current, -1);
    stopped.current = body.current?.querySelector(`[aria-rowindex="${index + 2}"]`) ?? null;
    tabTo(stopped.current, 0);
  });
}

function Head<T>({ header }: { header: Header<T, unknown> }) {
  const meta = header.column.columnDef.meta;
  const sorted = header.column.getIsSorted();
  const text = flexRender(header.column.columnDef.header, header.getContext());
  const order = sorted === "asc" ? "ascending" : sorted === "desc" ? "descending" : undefined;
  return (
    <th scope="col" className={classOf(meta)} aria-sort={order}>
      {header.column.getCanSort() ? (
        <button type="button" onClick={header.column.getToggleSortingHandler()} title={en.table.sort(meta?.label ?? header.id)}>
          {text} {sorted === "asc" ? "↑" : sorted === "desc" ? "↓" : ""}
        </button>
      ) : (
        text
      )}
    </th>
  );
}

export function Table<T>(props: Props<T>) {
  const { caption, columns, onEnd } = props;
  const box = useRef<HTMLDivElement>(null);
  const table = useModel(props);
  const model = table.getRowModel().rows;
  const width = useWidth(box);
  const { virtual, items, cut } = useItems(box, model.length, width, onEnd);
  const first = virtual.range?.startIndex ?? 0;
  const rowsInView = () => Math.max(1, (virtual.range?.endIndex ?? 0) - first - 1);
  const { at, ...keys } = useRows(model.length, rowsInView, (index) => virtual.scrollToIndex(index));
  useStop(keys.body, items.some((item) => item.index === at) ? at : first); // a row out of view is not in the page
  const { tracks, least } = useMemo(() => tracksOf(columns.map((c) => ({ track: c.meta?.width ?? "1fr", lead: c.meta?.lead, grows: c.meta?.grows })), width / scale(), MORE / scale()), [columns, width]);
  const more = useMore(box, columns);
  const room = useRoom(box, columns);
  const style = useMemo(() => ({ gridTemplateColumns: tracks, minWidth: least }), [tracks, least]);

  return (
    <div className="table-frame">
      <div className="table panel" ref={box} tabIndex={0} role="region" aria-label={caption} onFocus={uncover}>
        <table aria-rowcount={model.length + 1}>
          <caption className="hidden-label">{caption}</caption>
          <thead>
            {table.getHeaderGroups().map((group) => (
              <tr key={group.id} style={style}>
                {group.headers.map((header) => (
                  <Head key={header.id} header={header} />
                ))}
              </tr>
            ))}
          </thead>
          <tbody ref={keys.body} onFocus={keys.onFocus} onKeyDown={keys.onKeyDown} style={{ height: virtual.getTotalSize(), minWidth: least }}>
            <Room value={room}>
              {items.map((item) => {
                const row = model[item.index]!;
                return <Line key={row.id} row={row as Row<unknown>} columns={columns} index={item.index} start={item.start} style={style} />;
              })}
            </Room>
          </tbody>
        </table>
      </div>
      {more && (
        <button type="button" className="table-more" title={en.table.moreText} aria-label={en.table.moreText} onClick={() => box.current?.scrollBy({ left: box.current.clientWidth / 2 })}>
          ›
        </button>
      )}
      {cut && <p className="small">{en.table.printed(String(PRINTED), String(model.length))}</p>}
    </div>
  );
}

const classOf = (meta: { right?: boolean; lead?: boolean; stays?: boolean } | undefined): string => [meta?.right && "right", meta?.lead && "lead", meta?.stays && "stays"].filter(Boolean).join(" ");

/** Widths are for letters of the usual size, and grow with them (tokens.css). */
export const grown = (track: string): string => track.replace(/(\d+)px/g, (_, px: string) => `${Number(px) / 16}rem`);

/** How many times wider a grown width is than its px in the design. */
const scale = (): number => (parseFloat(getComputedStyle(document.documentElement).fontSize) || 16) / 16;

const FEWEST = 3; // columns in view: a phone has no room for a wider one
const MORE = 14; // px at the right edge: half of .table-more, whose other half lies over the edge of the last column in view

/** The tracks of the columns, and the least width of a row. If the columns are wider than the table, the one that grows or leads is
 * widened until the last one in view is there as a whole, left of .table-more; the others are reached by scrolling. Widths are
 * those of letters of the usual size, also that of .table-more, which does not grow with the letters. */
export function tracksOf(columns: readonly { track: string; lead?: boolean | undefined; grows?: boolean | undefined }[], width: number, more = MORE): { tracks: string; least: string } {
  const leasts = columns.map(({ track }) => leastOf(track));
  const sum = leasts.reduce((all, one) => all + one, 0);
  let shown = 0;
  let count = 0;
  while (count < leasts.length && shown + leasts[count]! <= width - more) shown += leasts[count++]!;
  const spare = sum > width && count >= FEWEST ? Math.floor(width - more - shown) : 0;
  const growing = columns.findIndex((column, at) => column.grows && at < count);
  const lead = growing >= 0 ? growing : Math.max(0, columns.findIndex((column) => column.lead));
  const tracks = columns.map(({ track }, at) => grown(at === lead && spare > 0 ? track.replace(/(\d+)px/, (_, px: string) => `${Number(px) + spare}px`) : track));
  return { tracks: tracks.join(" "), least: grown(`${sum + spare}px`) };
}

/** The least width of a track in px: 120px, or minmax(200px, 1fr). */
export function leastOf(track: string): number {
  const found = /(\d+)px/.exec(track);
  return found ? Number(found[1]) : 100;
}

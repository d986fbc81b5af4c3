// Icicle.tsx - a tree as rows of rectangles on a canvas, the root at the top: for stacks and for
// scopes. It has mouse, keyboard and zoom; screen readers get the chosen rectangle as text.
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type CSSProperties, type RefObject } from "react";
import { duration, percent } from "../../format/format";
import { flameText as text } from "../../text/flame";
import { coloursOf, type Colours } from "../../timeline/colours";
import { colourOf } from "../../timeline/names";
import { axisFont, grown, token, useLetters, useTheme } from "../../ui/theme";
import { textsOf } from "./labels";
import { rectAt, rectsOf, step, type Rect, type Tree, type Way } from "./tree";
import "./flame.css";

const ROW = 21; // px of a row, which grows with the page's letters
const LEAST = 1; // px; a narrower rectangle is not drawn
const ROWS = 300;
const LABEL_FROM = 24; // px; a narrower rectangle has no text
const LABEL_INSET = 4; // px before and after a text
const WAYS: Record<string, Way> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

const SHOWN = 600; // letters of a name above the picture; the whole name is in the tooltip
const cut = (name: string): string => (name.length > SHOWN ? `${name.slice(0, SHOWN)}…` : name);

interface Props {
  tree: Tree;
  label: string;
  focus: number; // the node that fills the whole width
  onFocus: (node: number) => void;
  found: ReadonlySet<number> | null; // null: nothing is searched for
  chosen: number;
  onChoose: (node: number) => void;
  /** A colour in place of the name's. */
  paint?: ((node: number) => Paint) | undefined;
  /** Index of a name's colour; without it each name has a colour of its own. */
  tone?: ((name: string) => number) | undefined;
  /** The whole name of a frame whose name is short. */
  fullOf?: ((name: string) => string) | undefined;
  /** Numbers in place of a frame's time, its part and its own time. */
  caption?: ((node: number) => string) | undefined;
}

export interface Paint {
  fill: string;
  ink: string;
}

interface Look {
  paint: ((node: number) => Paint) | undefined;
  tone: (name: string) => number;
  colours: Colours;
  width: number; // CSS px, as all lengths of a look
  row: number;
  font: string;
  chosen: number;
  hover: number;
  found: ReadonlySet<number> | null;
}

function draw(to: CanvasRenderingContext2D, tree: Tree, rects: readonly Rect[], height: number, look: Look): void {
  const { colours, width, row: high, found, paint, tone } = look;
  const unit = high / ROW;
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  to.setTransform(ratio, 0, 0, ratio, 0, 0);
  to.fillStyle = colours.surface;
  to.fillRect(0, 0, width, height);
  to.font = look.font;
  to.textBaseline = "middle";
  const texts = textsIn(to, tree, rects, width, unit);
  for (const rect of rects) {
    const { node, x0, x1, row } = rect;
    const { name } = tree[node]!;
    const x = x0 * width;
    const wide = Math.max(1, (x1 - x0) * width - (x1 - x0 > 3 / width ? 1 : 0));
    const at = tone(name);
    const pale = found !== null && !found.has(node);
    to.globalAlpha = pale ? 0.25 : 1;
    const own = paint?.(node);
    to.fillStyle = own ? own.fill : node === 0 ? colours.surface2 : colours.css[at]!;
    to.fillRect(x, row * high, wide, high - 1);
    to.globalAlpha = 1;
    if (node === look.chosen || node === look.hover) {
      to.strokeStyle = node === look.chosen ? colours.accent : colours.text;
      to.lineWidth = node === look.chosen ? 2.5 : 1;
      to.strokeRect(x + 1, row * high + 1, Math.max(1, wide - 2), high - 3);
    }
    const text = texts.get(rect);
    if (!text) continue;
    to.fillStyle = pale ? colours.text : own ? own.ink : node === 0 ? colours.text : colours.ink[at]!;
    to.fillText(text, x + (LABEL_INSET + 1) * unit, row * high + high / 2);
  }
}

/** The texts of all rectangles that have room for one, row by row. */
function textsIn(to: CanvasRenderingContext2D, tree: Tree, rects: readonly Rect[], width: number, unit: number): Map<Rect, string> {
  const rows = new Map<number, Rect[]>();
  for (const rect of rects) if ((rect.x1 - rect.x0) * width >= LABEL_FROM * unit) rows.set(rect.row, [...(rows.get(rect.row) ?? []), rect]);
  const texts = new Map<Rect, string>();
  for (const row of rows.values())
    textsOf(
      row.map(({ node, x0, x1 }) => ({ name: tree[node]!.name, parent: tree[node]!.parent, room: (x1 - x0) * width - (LABEL_INSET * 2 + 1) * unit })),
      (text) => to.measureText(text).width,
    ).forEach((text, at) => texts.set(row[at]!, text));
  return texts;
}

/** The width of a box in px. It is known before the first paint, so that the picture has its height
 * then and its rows do not push away what is below them. */
function useWidth(box: RefObject<HTMLDivElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = (): void => setWidth(box.current?.clientWidth ?? 0);
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, [box]);
  return width;
}

/** Draws the picture whenever something in it changes. */
function usePicture(canvas: RefObject<HTMLCanvasElement | null>, tree: Tree, rects: readonly Rect[], height: number, look: Look): void {
  const { width, row, font, colours, chosen, hover, found, paint, tone } = look;
  useEffect(() => {
    const to = canvas.current?.getContext("2d");
    if (!to || width === 0) return;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    to.canvas.width = Math.round(width * ratio);
    to.canvas.height = Math.round(height * ratio);
  }, [canvas, width, height]);
  useEffect(() => {
    const to = canvas.current?.getContext("2d");
    if (to && width > 0) draw(to, tree, rects, height, look);
    // The look is made again at each render; its members say whether it is another one.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [canvas, tree, rects, width, height, row, font, colours, chosen, hover, found, paint, tone]);
}

/** Carries out a key. chosen: the frame from which it moves. False if the key has no meaning here. */
function pressed(key: string, chosen: number, rects: readonly Rect[], { tree, focus, onFocus, onChoose }: Pick<Props, "tree" | "focus" | "onFocus" | "onChoose">): boolean {
  const way = WAYS[key];
  if (way) {
    const next = step(tree, chosen, way);
    onChoose(next);
    // A chosen frame that the zoom hides becomes visible again.
    if (!rects.some((rect) => rect.node === next)) onFocus(tree[next]!.parent < 0 ? 0 : tree[next]!.parent);
  } else if (key === "Enter") onFocus(chosen);
  else if (key === "Escape" && focus !== 0) {
    onChoose(focus);
    onFocus(Math.max(0, tree[focus]!.parent));
  } else return false;
  return true;
}

const partText = (tree: Tree, node: number): string => percent(tree[0]!.total > 0 ? tree[node]!.total / tree[0]!.total : null);

/** The name and the numbers of the frame under the pointer, or else of the chosen one. */
function ShownFrame({ tree, node, fullOf, caption }: Pick<Props, "tree" | "fullOf" | "caption"> & { node: number }) {
  const { id, name, total, self } = tree[node]!;
  const whole = fullOf?.(name) ?? name;
  return (
    <p className="icicle-shown small">
      <span className="mono wrap" title={whole} data-name={whole}>{cut(name)}</span>{" "}
      <span className="quiet number">
        {caption ? caption(id) : `${duration(total)} · ${partText(tree, id)} · ${text.own(duration(self))}`}
      </span>
    </p>
  );
}

export function Icicle({ tree, label, focus, onFocus, found, chosen, onChoose, paint, tone = colourOf, fullOf, caption }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const width = useWidth(box);
  const [hover, setHover] = useState(-1);
  const at = tree[chosen] ? chosen : 0;
  const rects = useMemo(() => (width > 0 ? rectsOf(tree, focus, LEAST / width, ROWS) : []), [tree, focus, width]);
  const rows = useMemo(() => rects.reduce((most, rect) => Math.max(most, rect.row), 0) + 1, [rects]);
  const letters = useLetters();
  const [row, font] = useMemo(() => [grown(ROW), axisFont()], [letters]);
  const height = rows * row;
  const colours = useMemo(() => coloursOf(token), [theme]);
  usePicture(canvas, tree, rects, height, { colours, width, row, font, chosen: at, hover, found, paint, tone });

  const under = (event: { clientX: number; clientY: number }): number => {
    const place = canvas.current!.getBoundingClientRect();
    return rectAt(rects, (event.clientX - place.left) / width, Math.floor((event.clientY - place.top) / row))?.node ?? -1;
  };
  const key = (event: React.KeyboardEvent): void => {
    if (pressed(event.key, at, rects, { tree, focus, onFocus, onChoose })) event.preventDefault();
  };
  return (
    <div className="icicle">
      <ShownFrame tree={tree} node={tree[hover] ? hover : at} fullOf={fullOf} caption={caption} />
      <div className="icicle-box" ref={box} style={{ "--icicle-row": `${row}px` } as CSSProperties} tabIndex={0} role="application" aria-label={label} onKeyDown={key}>
        <canvas
          ref={canvas}
          style={{ width: "100%", height }}
          aria-hidden="true"
          onPointerMove={(event) => setHover(under(event))}
          onPointerLeave={() => setHover(-1)}
          onClick={(event) => {
            const node = under(event);
            if (node < 0) return;
            onChoose(node);
            onFocus(node);
          }}
        />
      </div>
      <p className="hidden-label" aria-live="polite">
        {caption ? `${cut(tree[at]!.name)}: ${caption(at)}` : text.node(cut(tree[at]!.name), duration(tree[at]!.total), partText(tree, at))}
      </p>
    </div>
  );
}

// Launched.tsx - the kernels of a line of the program, in the window of the line: kernels that the
// line launched, or else kernels whose own code the line is. Each kernel links to its own page at
// that line. The list is empty if neither is known.
import { useMemo } from "react";
import { client } from "../../api/client";
import { useApi } from "../../api/use";
import { count } from "../../format/format";
import { placeText, type SourcePlace } from "../../format/place";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { useAsked } from "../../timeline/use";
import { insights as text } from "../../text/insights";
import { countColumn, Listing, timeColumn, type Column } from "../../ui/Listing";
import { Name } from "../../ui/Name";
import { stacksOf } from "../flame/tree";
import { kernelsOf, LISTED, type Kernel } from "../kernels/kernel";
import { kernelsAt, kernelsWithCode, type KernelWithCode, type LaunchedKernel } from "./launched";

const SHOWN = 8;
const SEARCHED_MOST = 256; // letters

interface OfLine extends SourcePlace {
  session: string;
}

/** The listed kernels by the names that are used here. undefined: not answered yet. */
function useListed(session: string, wanted: boolean): Kernel[] | undefined {
  const list = useApi("kernels", wanted ? { session, limit: LISTED } : null);
  return useMemo(() => (list.data ? kernelsOf(list.data) : list.problem ? [] : undefined), [list.data, list.problem]);
}

interface KernelAtProps {
  at: OfLine;
  name: string;
  alike: readonly Kernel[] | undefined; // listed kernels that may be this one
  other: Record<string, string>; // the question for the list of kernels, if none or several may be this one
}

/** A kernel's name, which links to its page at the line. */
function KernelAt({ at, name, alike, other }: KernelAtProps) {
  if (!alike) return <>{name}</>; // the target of the link is not known yet
  const [kernel] = alike;
  const line = placeText(at);
  const to = kernel && alike.length === 1 ? href("kernel", { session: at.session, name: kernel.id }, { line }) : href("session", { session: at.session, tab: "kernels" }, { ...other, line });
  return (
    <Link href={to}>
      <Name short={name} full={kernel?.name ?? name} />
    </Link>
  );
}

interface TableProps<T> {
  title: string;
  about: string;
  rows: readonly T[];
  columns: Column<T>[];
  keyOf: (row: T) => string;
}

function KernelTable<T>({ title, about, rows, columns, keyOf }: TableProps<T>) {
  return (
    <div>
      <p className="panel-body">
        <strong>{title}</strong> <span className="quiet small">{about}</span>
      </p>
      <Listing label={title} columns={columns} rows={rows.slice(0, SHOWN)} keyOf={keyOf} />
      {rows.length > SHOWN && (
        <details className="small">
          <summary className="panel-body">{text.launchedMore(count(rows.length - SHOWN))}</summary>
          <Listing label={text.launchedRest} columns={columns} rows={rows.slice(SHOWN)} keyOf={keyOf} />
        </details>
      )}
    </div>
  );
}

const NAME = "mono wrap";

/** Kernels with instructions at the line. */
function OwnCode({ at }: { at: OfLine }) {
  const profile = useApi("section_profile", { session: at.session });
  const found = useMemo(() => kernelsWithCode(profile.data, at.file, at.line), [profile.data, at.file, at.line]);
  const listed = useListed(at.session, found.length > 0);
  if (found.length === 0) return null;
  return (
    <KernelTable
      title={text.ownCode}
      about={text.ownCodeText}
      rows={found}
      columns={[
        { label: text.launchedColumns.kernel, className: NAME, show: ({ symbol, name }) => <KernelAt at={at} name={name} alike={listed?.filter((kernel) => kernel.mangled === symbol)} other={{ symbol }} /> },
        countColumn<KernelWithCode>(text.launchedColumns.samples, ({ samples }) => samples),
      ]}
      keyOf={({ symbol }) => symbol}
    />
  );
}

export function Launched(at: OfLine) {
  const { session, file, line } = at;
  const flame = useAsked(`flame ${session}`, () => client.text("flame", { session }));
  const found = useMemo(() => kernelsAt(stacksOf(flame.data ?? "").get("GPU") ?? [], file, line), [flame.data, file, line]);
  const listed = useListed(session, found.length > 0);
  if (found.length === 0) return flame.data === undefined && !flame.problem ? null : <OwnCode at={at} />;
  return (
    <KernelTable
      title={text.launched}
      about={text.launchedText}
      rows={found}
      columns={[
        // Stacks of GPU time have the short names.
        { label: text.launchedColumns.kernel, className: NAME, show: ({ name }) => <KernelAt at={at} name={name} alike={listed?.filter((kernel) => kernel.short === name)} other={{ search: name.slice(0, SEARCHED_MOST) }} /> },
        timeColumn<LaunchedKernel>(text.launchedColumns.time, ({ ns }) => ns),
      ]}
      keyOf={({ name }) => name}
    />
  );
}

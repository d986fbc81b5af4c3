// KernelPage.tsx - one kernel: how long its launches take, how it is launched, and its launches.
import { useEffect, useMemo } from "react";
import { client } from "../../api/client";
import type { RowSession } from "../../api/schema";
import { onSession, useApi } from "../../api/use";
import { who } from "../../api/who";
import { baseName, count, date, duration, exact, exactDate, grouped, percent, UNKNOWN } from "../../format/format";
import { placeOf, placeText, type SourcePlace } from "../../format/place";
import { list, number, raw } from "../../format/raw";
import { Link } from "../../router/Link";
import { href, useQuery } from "../../router/router";
import { en } from "../../text/en";
import { kernels as kernelTexts } from "../../text/kernels";
import { wordsOf } from "../../text/kernel";
import { CopyName, Name } from "../../ui/Name";
import { Empty, ProblemView, Skeleton, Stats } from "../../ui/parts";
import { usePasses } from "../run/usePasses";
import { asLeft } from "../session/left";
import { SessionId } from "../session/SessionId";
import { LINE } from "./AtLine";
import { Deep } from "./Deep";
import { vendorOf } from "../../api/vendor";
import { beginOf, definitionOf, kernelsOf, LISTED, listedKernel, type Kernel } from "./kernel";
import { Distribution, Launches } from "./Launches";

/** share: the kernel's part of the time of all kernels of the session; null: unknown; undefined: not here yet. */
function summary(k: Kernel, share: number | null | undefined) {
  const of = kernelTexts.columns;
  const time = (label: string, value: number | null) => ({ label, value: duration(value), exact: exact(value, "ns") });
  return [
    { ...time(of.total, k.total), note: share === undefined ? "\u00a0" : share === null ? kernelTexts.shareUnknown : kernelTexts.ofAll(percent(share)) },
    { label: of.calls, value: count(k.calls), exact: exact(k.calls) },
    time(of.mean, k.mean),
    time(of.p50, k.p50),
    time(of.p90, k.p90),
    time(of.p99, k.p99),
    time(of.longest, k.longest),
    { label: of.streams, value: grouped(k.streams ?? 0) },
  ];
}

/** What the session's report says of the kernel. share: its part of the time of all kernels; null: unknown;
 * undefined: not here yet. defined: where it is defined; null: unknown. */
function useReported(session: string, { total, mangled }: Kernel): { share: number | null | undefined; defined: SourcePlace | null } {
  const asked = useApi("section_summary", { session }, { every: 0, on: onSession(session) });
  if (!asked.data && !asked.problem) return { share: undefined, defined: null };
  const all = list(raw(asked.data).sessions).reduce<number | null>((sum, row) => (number(row.kernel_ns) === null ? sum : (sum ?? 0) + number(row.kernel_ns)!), null);
  return { share: all !== null && total !== null && all >= total && all > 0 ? total / all : null, defined: definitionOf(asked.data, mangled) };
}

/** The line that defines a kernel of Triton or torch.compile. It opens the source there. */
function Defined({ session, id, at }: { session: string; id: number; at: SourcePlace }) {
  return (
    <p className="small">
      {`${kernelTexts.defined} `}
      <Link className="mono" title={placeText(at)} href={href("kernel", { session, name: id }, { [LINE]: placeText(at) })}>
        {placeText({ ...at, file: baseName(at.file) })}
      </Link>
    </p>
  );
}

/** name: the kernel's id in the session of the page. own: that session. times: the id of the session with the kernel's times. */
function Head({ session, name, own, times, kernel }: { session: string; name: number; own: RowSession | undefined; times: string; kernel: Kernel }) {
  const [full, setFull] = useQuery("full");
  const { share, defined } = useReported(times, kernel);
  return (
    <header className="stack">
      <div className="row">
        <h1 className="kernel-name mono">
          <Name short={kernel.short} full={kernel.name} /> <CopyName full={kernel.name} />
        </h1>
        <Link className="button end" href={asLeft(session, "kernels")}>
          {kernelTexts.all}
        </Link>
        {!who.link && (
          <Link className="button" href={href("trends", {}, { name: kernel.mangled })}>
            {en.toTrends.kernel}
          </Link>
        )}
      </div>
      <p className="small quiet row">
        <Link href={asLeft(session, "insights")}>{own?.app || session}</Link>
        {own?.app && <SessionId id={session} />}
        {own && <span title={exactDate(own.started)}>{`${en.session.where(own.host || UNKNOWN, String(own.pid ?? UNKNOWN))}, ${en.session.started} ${date(own.started)}`}</span>}
      </p>
      {defined && <Defined session={session} id={name} at={defined} />}
      <Stats items={summary(kernel, share)} />
      <details className="small" open={full === "1"} onToggle={(event) => setFull(event.currentTarget.open ? "1" : "")}>
        <summary>{kernelTexts.name}</summary>
        <p className="mono wrap">{kernel.name}</p>
        <p className="mono wrap quiet">{kernel.mangled}</p>
      </details>
    </header>
  );
}

export function KernelPage({ session, name }: { session: string; name: number }) {
  const [wanted] = useQuery(LINE);
  const place = useMemo(() => placeOf(wanted), [wanted]);
  const asked = useApi("kernels", Number.isInteger(name) ? { session, name, limit: 1 } : null);
  const own = useMemo(() => (asked.data ? kernelsOf(asked.data)[0] : listedKernel(client.last("kernels", { session, limit: LISTED }), name)), [asked.data, session, name]);
  const passes = usePasses(session);
  // If the command ran in several passes, the pass that records times alone has the times. Each pass
  // has name ids of its own.
  const other = passes.times && passes.times.id !== session ? passes.times.id : null;
  const there = useApi("kernels", other && own ? { session: other, pattern: beginOf(own.mangled), limit: LISTED } : null);
  const timed = useMemo(() => (there.data && own ? kernelsOf(there.data).find((k) => k.mangled === own.mangled) : undefined), [there.data, own]);
  const kernel = timed ?? own;
  const at = timed && other ? { session: other, name: timed.id } : { session, name };
  // The session with the times is known before the kernel's name, so that its launches are asked
  // for at once.
  const placed = passes.settled && (!other || (asked.data && !own) || there.data !== undefined || there.problem !== undefined);
  useEffect(() => {
    document.title = `${kernel ? kernel.short : en.session.tabs.kernels} · ${en.product}`;
  }, [kernel]);
  if (asked.problem && !asked.data) return <ProblemView alone problem={asked.problem} again={asked.again} />;
  if (!placed && Number.isInteger(name)) return <Skeleton rows={8} />;
  if (!kernel && (asked.data || !Number.isInteger(name))) return <Empty alone title={kernelTexts.missing} text={en.states.lostPageText} />;
  return (
    <>
      {kernel ? <Head session={session} name={name} own={passes.own} times={at.session} kernel={kernel} /> : <Skeleton rows={3} />}
      {!place && <Distribution {...at} />}
      {kernel ? <Deep {...at} symbol={kernel.mangled} short={kernel.short} passes={passes.rows} place={place} at={session} words={wordsOf(vendorOf(passes.own))} /> : <Skeleton rows={8} />}
      {place && <Distribution {...at} />}
      <Launches {...at} />
    </>
  );
}

// FleetPage.tsx - home: hosts and GPUs as they are now, those that need attention first, running
// sessions, and usage over days. Live events say when to ask again.
import type { ColumnDef, SortingState } from "@tanstack/react-table";
import { useEffect, useMemo, useState } from "react";
import { client } from "../../api/client";
import { may, useMe } from "../../api/may";
import type { RowHostNow, RowRunning } from "../../api/schema";
import { onSession, useAct, useApi } from "../../api/use";
import { bytes, count, exact, exactDate, percent, UNKNOWN } from "../../format/format";
import { Link } from "../../router/Link";
import { go, href, usePlace, useQuery, withQuery } from "../../router/router";
import { en } from "../../text/en";
import { fleet as text } from "../../text/fleet";
import { Ask, Choices } from "../../ui/forms";
import { dateColumn, Listing, type Column } from "../../ui/Listing";
import { Meter, Panel, ProblemView, Skeleton, Stats } from "../../ui/parts";
import { Table } from "../../ui/Table";
import { FirstRun } from "../firstrun/FirstRun";
import "./fleet.css";
import { celsius, GpuCard, HealthMark, megahertz, reasonsOf, seenText, watts } from "./GpuCard";
import { FRESH, gpuName, hostName, LIVE_MS, useNewest, useNow } from "./fresh";
import { attention, byUrgency, gpuOf, hostSampleOf, isSilent, meanUtil, shortUuids, type Gpu, type Health } from "./health";
import { History } from "./History";
import { LocalHome } from "./LocalHome";
import { MonitorsFound } from "./Watched";

const c = text.columns;

const shown = (id: "power" | "temperature" | "clock_sm" | "processes", header: string, width: string, show: (value: number | null) => string): ColumnDef<Gpu> => ({
  id,
  header,
  accessorFn: (gpu) => gpu.sample[id] ?? -1,
  meta: { width, right: true, label: header },
  cell: ({ row: { original: gpu } }) => show(gpu.sample[id]),
});

const HOST_MOST = 24; // letters: the model and the UUID of a GPU need the rest of its two lines
const hostText = (host: string): string => (host.length > HOST_MOST ? `${host.slice(0, 14)}…${host.slice(-9)}` : host);

/** The width of the states that are there: in px, for letters of the usual size. */
const stateWidth = (gpus: readonly Gpu[]): string => `${52 + 7 * Math.max(7, ...gpus.map((gpu) => (text.health[gpu.health] ?? "").length))}px`;

const columnsAt = (now: number, short: (uuid: string) => string, clock: string, state: string): ColumnDef<Gpu>[] => [
  { id: "gpu", header: c.gpu, accessorFn: (gpu) => `${gpu.host} ${String(gpu.number ?? 0).padStart(3, "0")}`, sortDescFirst: false, meta: { width: "minmax(260px, 2fr)", lead: true }, cell: ({ row: { original: gpu } }) => <span className="differences" title={`${gpu.host} · ${gpu.number ?? UNKNOWN} · ${gpu.name} · ${gpu.uuid}`}>{`${hostText(gpu.host)} · ${gpu.number ?? UNKNOWN} · ${gpu.name} `}<span className="mono small">{short(gpu.uuid)}</span></span> },
  { id: "health", header: c.health, accessorFn: (gpu) => -["bad", "warn", "good", "none"].indexOf(gpu.tone), meta: { width: state }, cell: ({ row: { original: gpu } }) => <HealthMark gpu={gpu} /> },
  { id: "seen", header: c.seen, accessorFn: (gpu) => Number(gpu.seen ?? 0), meta: { width: "136px", right: true }, cell: ({ row: { original: gpu } }) => <span title={exactDate(gpu.seen)}>{seenText(gpu.seen, now)}</span> },
  {
    id: "util",
    header: c.util,
    accessorFn: (gpu) => gpu.sample.gpu_util ?? -1,
    meta: { width: "150px", right: true },
    cell: ({ row: { original: gpu } }) => (
      <>
        {gpu.sample.gpu_util === null ? UNKNOWN : `${gpu.sample.gpu_util} %`}
        <span className="part">{gpu.sample.gpu_util !== null && <Meter part={gpu.sample.gpu_util / 100} />}</span>
      </>
    ),
  },
  { id: "memory", header: c.memory, accessorFn: (gpu) => gpu.sample.memory_used ?? -1, meta: { width: "110px", right: true }, cell: ({ row: { original: gpu } }) => <span title={exact(gpu.sample.memory_used, "bytes")}>{bytes(gpu.sample.memory_used)}</span> },
  shown("power", c.power, "90px", watts),
  shown("temperature", c.temperature, "120px", celsius),
  shown("clock_sm", clock, "110px", megahertz),
  shown("processes", c.processes, "105px", count),
  { id: "sessions", header: c.sessions, accessorFn: (gpu) => gpu.sessions ?? 0, meta: { width: "95px", right: true }, cell: ({ row: { original: gpu } }) => count(gpu.sessions) },
  { id: "reasons", header: c.reasons, enableSorting: false, meta: { width: "minmax(130px, 1fr)" }, cell: ({ row: { original: gpu } }) => reasonsOf(gpu) },
];

function HostHead({ host, now, onForget }: { host: RowHostNow; now: number; onForget: (() => void) | undefined }) {
  const s = hostSampleOf(host);
  const old = isSilent(host.seen, now);
  return (
    <div className={old ? "row host-head old-values" : "row host-head"}>
      <h2>
        <Link href={href("host", { host: host.name })}>{host.name || UNKNOWN}</Link>
      </h2>
      <span className="small quiet" title={exactDate(host.seen)}>
        {host.system} · {text.host.seen} {seenText(host.seen, now)}
      </span>
      <span className="host-meter small end">
        {old && `${text.lastKnownShort}:`} {text.host.cpu} {s.cpu !== null && <Meter part={s.cpu} />} <span className="number">{percent(s.cpu)}</span>
      </span>
      <span className="host-meter small">
        {text.host.memory} {s.memory !== null && <Meter part={s.memory} />} <span className="number">{percent(s.memory)}</span>
      </span>
      {onForget && (
        <button type="button" className="button" onClick={onForget} aria-label={`${text.host.forget} ${host.name}`}>
          {text.host.forget}
        </button>
      )}
    </div>
  );
}

const RUNNING_SHOWN = 100;
const head = text.runningColumns;
const RUNNING: Column<RowRunning>[] = [
  { label: head.app, show: (row) => <Link href={href("session", { session: row.session, tab: "insights" })}>{row.app || row.session.slice(0, 8)}</Link> },
  { label: head.host, show: (row) => <Link href={href("host", { host: row.host })}>{row.host}</Link> },
  { label: head.gpu, show: (row) => row.gpu_name, title: (row) => row.gpu },
  dateColumn(head.since, (row) => row.started),
  dateColumn(head.fresh, (row) => row.received),
];

function Running() {
  const asked = useApi("running", {}, FRESH);
  const rows = asked.data?.rows ?? [];
  return (
    <Panel title={text.running}>
      {asked.problem && !asked.data && <ProblemView problem={asked.problem} again={asked.again} />}
      {asked.data && rows.length === 0 && <p className="panel-body quiet">{text.runningNone}</p>}
      {rows.length > 0 && <Listing label={text.running} columns={RUNNING} rows={rows.slice(0, RUNNING_SHOWN)} keyOf={(row) => `${row.session} ${row.gpu}`} />}
    </Panel>
  );
}

/** What the number of GPUs that need attention leaves out: nothing is known of silent GPUs. */
function attentionNote(all: number, fresh: number, urgent: number): string | undefined {
  if (fresh === 0) return text.countsNote.nobody;
  if (fresh < all) return text.countsNote.silent(count(all - fresh));
  return urgent ? undefined : text.countsNote.none;
}

const SHOWN: readonly Health[] = ["failing", "hot", "throttled", "full", "idle", "busy", "free", "silent"];

function Filters({ gpus, show, onShow }: { gpus: Gpu[]; show: string; onShow: (show: string) => void }) {
  const there = SHOWN.filter((health) => gpus.some((gpu) => gpu.health === health));
  const options = [{ value: "", label: `${text.all} ${gpus.length}` }, ...there.map((health) => ({ value: health as string, label: `${text.health[health]} ${gpus.filter((gpu) => gpu.health === health).length}` }))];
  return <Choices label={text.show} value={show} options={options} onChange={onShow} />;
}

/** `gpufl view` has no fleet; the sessions of a folder are shown instead. */
export function FleetPage() {
  const me = useMe();
  return me?.view ? <LocalHome /> : <Fleet me={me} />;
}

/** The hosts and GPUs as they are now, and the time that they are judged at. undefined: not known
 * yet. */
function useFleet() {
  const hosts = useApi("hosts", {}, FRESH);
  const asked = useApi("gpus", {}, FRESH);
  const hostRows = useNewest(hosts.data?.rows, "hosts", hostName);
  const gpuRows = useNewest(asked.data?.rows, "gpus", gpuName);
  const now = useNow(gpuRows, hostRows);
  const gpus = useMemo(() => (gpuRows ?? []).map((row) => gpuOf(row, now)).sort(byUrgency), [gpuRows, now]);
  const short = useMemo(() => shortUuids(gpus), [gpus]);
  const again = (): void => {
    hosts.again();
    asked.again();
  };
  const problem = !hosts.data || !asked.data ? (hosts.problem ?? asked.problem) : undefined;
  return { hosts: hostRows, gpus: gpuRows && gpus, short, now, problem, again };
}

/** The numbers of the fleet. fresh: how many GPUs are not silent. */
function Counts({ hosts, gpus, fresh }: { hosts: readonly RowHostNow[]; gpus: Gpu[]; fresh: number }) {
  const urgent = attention(gpus);
  const mean = meanUtil(gpus);
  return (
    <Stats
      items={[
        { label: text.counts.attention, value: <span className={urgent ? "captured-lost" : ""}>{count(urgent)}</span>, note: attentionNote(gpus.length, fresh, urgent ?? 0) },
        { label: text.counts.gpus, value: count(gpus.length), note: text.countsNote.fresh(count(fresh)) },
        { label: text.counts.hosts, value: count(hosts.length) },
        { label: text.counts.running, value: count(hosts.reduce((sum, host) => sum + (host.sessions ?? 0), 0)) },
        { label: text.counts.util, value: percent(mean), note: mean === null ? undefined : <Meter part={mean} /> },
      ]}
    />
  );
}

interface Shown {
  gpus: Gpu[]; // those that are shown
  short: (uuid: string) => string;
  now: number;
}

/** The GPUs as a table. all: also those that are not shown, so that the columns keep their widths. */
function GpuTable({ all, gpus, short, now }: Shown & { all: Gpu[] }) {
  const { query } = usePlace();
  const columns = useMemo(() => columnsAt(now, short, text.clockOf(all.map((gpu) => gpu.vendor)), stateWidth(all)), [now, short, all]);
  const sorting: SortingState = [{ id: query.get("sort") ?? "health", desc: query.get("ascending") !== "true" }];
  return <Table caption={text.counts.gpus} rows={gpus} columns={columns} sorting={sorting} sortHere onSort={([by]) => by && go(withQuery(location.pathname, query, { sort: by.id, ascending: by.desc ? "" : "true" }), true)} />;
}

function Host({ host, gpus, short, now, onForget }: Shown & { host: RowHostNow; onForget: (() => void) | undefined }) {
  return (
    <section className="stack host">
      <HostHead host={host} now={now} onForget={onForget} />
      <div className="gpu-cards">
        {gpus
          .filter((gpu) => gpu.host === host.name)
          .map((gpu) => (
            <GpuCard key={gpu.uuid} gpu={gpu} short={short(gpu.uuid)} now={now} />
          ))}
      </div>
    </section>
  );
}

/** Asks before a host is forgotten. */
function Forget({ host, onClose, onDone }: { host: string; onClose: () => void; onDone: () => void }) {
  const forget = useAct(async () => {
    await client.change("host_delete", { host }, undefined);
    onDone();
  });
  return (
    <Ask danger title={text.host.forgetTitle(host)} action={text.host.forget} busy={forget.busy} problem={forget.problem} onDo={() => void forget.run()} onClose={onClose}>
      <p>{text.host.forgetText}</p>
    </Ask>
  );
}

function Fleet({ me }: { me: ReturnType<typeof useMe> }) {
  const { hosts, gpus, short, now, problem, again } = useFleet();
  const sessions = useApi("session_count", {}, { every: LIVE_MS, on: onSession() });
  const [view, setView] = useQuery("view", "cards");
  const [show, setShow] = useQuery("show");
  const [leaving, setLeaving] = useState<string>();
  useEffect(() => {
    document.title = `${text.title} · ${en.product}`;
  }, []);
  if (problem) return <ProblemView problem={problem} again={again} />;
  if (!hosts || !gpus) return <Skeleton rows={10} />;
  if (hosts.length === 0 && sessions.data?.count === 0) return <FirstRun />;

  const mine = show ? gpus.filter((gpu) => gpu.health === show) : gpus;
  const fresh = gpus.filter((gpu) => gpu.health !== "silent").length;
  const withGpus = hosts.filter((host) => !show || mine.some((gpu) => gpu.host === host.name));
  const forgotten = (): void => {
    setLeaving(undefined);
    again();
  };
  return (
    <div className="stack">
      <div className="row">
        <h1>{text.title}</h1>
        <span className="end" />
        <Choices label={text.view} value={view} options={[{ value: "cards", label: text.views.cards }, { value: "table", label: text.views.table }]} onChange={setView} />
      </div>
      <Counts hosts={hosts} gpus={gpus} fresh={fresh} />
      {gpus.length > 0 && <Filters gpus={gpus} show={show} onShow={setShow} />}
      {view === "table" && fresh < gpus.length && <p className="quiet small">{text.oldRows}</p>}
      {view === "table" ? (
        <GpuTable all={gpus} gpus={mine} short={short} now={now} />
      ) : (
        withGpus.map((host) => <Host key={host.name} host={host} gpus={mine} short={short} now={now} onForget={may(me, "WRITE") ? () => setLeaving(host.name) : undefined} />)
      )}
      <Running />
      <MonitorsFound />
      <History />
      {leaving !== undefined && <Forget host={leaving} onClose={() => setLeaving(undefined)} onDone={forgotten} />}
    </div>
  );
}

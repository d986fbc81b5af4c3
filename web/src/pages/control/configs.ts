// configs.ts - configurations as values: what a form holds and sends, the differences of two
// versions, and which versions run where.
import { OPTIONS, type Option } from "../../api/options";
import type { RowAgent, RowHostConfig, RowNamedConfig, RowSession } from "../../api/schema";

export interface Setting {
  name: string;
  value: string;
}

/** The options of a row, which a server wrote as JSON, in the order of their names. */
export function settingsOf(options: unknown): Setting[] {
  if (typeof options !== "object" || options === null || Array.isArray(options)) return [];
  return Object.entries(options)
    .map(([name, value]) => ({ name, value: String(value) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const BOOLS = new Set(["true", "false"]);

/** Why a value cannot be saved; null: it can, as far as a page knows. The server decides. */
export function wrongValue({ name, value }: Setting): "number" | null {
  const option = OPTIONS[name];
  if (option?.kind !== "INT") return null;
  const number = Number(value);
  const whole = /^\d{1,18}$/.test(value.trim());
  return whole && number >= option.least && (option.most === null || number <= option.most) ? null : "number";
}

/** The text of the JSON object that is sent: numbers with all of their digits. */
export function bodyOf(settings: readonly Setting[]): string {
  const member = ({ name, value }: Setting): string => {
    const kind = OPTIONS[name]?.kind;
    const bare = (kind === "INT" && /^\d+$/.test(value.trim())) || (kind === "BOOL" && BOOLS.has(value));
    return `${JSON.stringify(name)}:${bare ? value.trim().replace(/^0+(?=\d)/, "") : JSON.stringify(value)}`;
  };
  return `{${settings.map(member).join(",")}}`;
}

/** The first value of a new setting. */
export function firstValue({ kind, least }: Option): string {
  const first: Record<Option["kind"], string> = { BOOL: "true", ENGINE: "Trace", BACKEND: "Auto", INT: String(least), STR: "" };
  return first[kind];
}

export const isName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name);

export interface Difference {
  name: string;
  before: string | null; // null: not set
  after: string | null;
}

/** The changes from one set of options to another, by name. */
export function differences(before: readonly Setting[], after: readonly Setting[]): Difference[] {
  const [old, now] = [before, after].map((list) => new Map(list.map(({ name, value }) => [name, value]))) as [Map<string, string>, Map<string, string>];
  return [...new Set([...old.keys(), ...now.keys()])]
    .sort()
    .map((name) => ({ name, before: old.get(name) ?? null, after: now.get(name) ?? null }))
    .filter((one) => one.before !== one.after);
}

export interface Version {
  row: RowNamedConfig;
  differences: Difference[];
  first: boolean; // there was no version before, or the version before was deleted
}

/** versions: newest first, in the server's order. */
export function historyOf(versions: readonly RowNamedConfig[]): Version[] {
  return versions.map((row, at) => {
    const before = versions[at + 1];
    return { row, differences: differences(settingsOf(before?.options), settingsOf(row.options)), first: before === undefined ? row.version === 1 : before.removed === true };
  });
}

/** The configuration that a session took options from, by its label; null: none. */
export function configOf(session: Pick<RowSession, "labels">): { name: string; version: number } | null {
  const labels: unknown = session.labels;
  const label = typeof labels === "object" && labels !== null && "config" in labels ? String(labels.config) : "";
  const found = /^([A-Za-z0-9][A-Za-z0-9._-]*), version (\d+)$/.exec(label);
  return found ? { name: found[1]!, version: Number(found[2]) } : null;
}

export interface Run {
  name: string;
  version: number;
  sessions: number;
  newest: number | null; // null: the configuration was deleted since
}

export interface HostRow {
  host: string;
  agent: RowAgent | null;
  uses: string; // "": none
  assigned: RowHostConfig | null;
  runs: Run[];
}

/** All hosts that have an agent, a configuration, or a running session with one. */
export function hostsOf(agents: readonly RowAgent[], assigned: readonly RowHostConfig[], sessions: readonly RowSession[], configs: readonly RowNamedConfig[]): HostRow[] {
  const newest = new Map(configs.map((row) => [row.id, row.version]));
  const rows = new Map<string, HostRow>();
  const at = (host: string): HostRow => {
    const row = rows.get(host) ?? { host, agent: null, uses: "", assigned: null, runs: [] };
    rows.set(host, row);
    return row;
  };
  for (const agent of agents) at(agent.host).agent = agent;
  for (const one of assigned) Object.assign(at(one.host), { assigned: one, uses: one.config });
  for (const session of sessions) {
    const config = configOf(session);
    if (!config) continue;
    const { runs } = at(session.host);
    const run = runs.find(({ name, version }) => name === config.name && version === config.version);
    if (run) run.sessions++;
    else runs.push({ ...config, sessions: 1, newest: newest.get(config.name) ?? null });
  }
  for (const row of rows.values()) row.runs.sort((a, b) => (a.name === b.name ? b.version - a.version : a.name < b.name ? -1 : 1));
  return [...rows.values()].sort((a, b) => (a.host < b.host ? -1 : 1));
}

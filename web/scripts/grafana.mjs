// grafana.mjs - checks Grafana dashboards with the types that Grafana publishes for them (@grafana/schema):
// the dashboard, the options of each panel by its type, and its queries. A member that the types do not have is an error.
//   node scripts/grafana.mjs FILE...
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const web = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");

/** Units of Grafana (valueFormats/categories of @grafana/data 13.2.3, which no program needs to draw a unit's name). */
const UNITS = ["none", "percentunit", "bytes", "watt", "Bps", "celsius", "hertz", "joule", "s"];
const panelCfg = (type, name) => `import type { Options as ${name}Options } from "@grafana/schema/dist/esm/raw/composable/${type}/panelcfg/x/${name}PanelCfg_types.gen";`;

/** Enums are written as their texts in JSON. */
const HEAD = `
import type { Dashboard, GraphFieldConfig } from "@grafana/schema";
import type { PrometheusDataQuery } from "grafana-schema-10/dist/esm/raw/composable/prometheus/dataquery/x/PrometheusDataQuery_types.gen";
${panelCfg("stat", "Stat")}
${panelCfg("table", "Table")}
${panelCfg("timeseries", "TimeSeries")}
type Json<T> = T extends string ? \`\${T}\` : T extends (infer U)[] ? Json<U>[] : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
type Unit = ${UNITS.map((unit) => JSON.stringify(unit)).join(" | ")};
interface Panel<O, C> {
  options?: Partial<Json<O>>;
  fieldConfig: { defaults: { unit?: Unit; min?: number; max?: number; custom?: Partial<Json<C>> }; overrides: unknown[] };
  targets: Json<PrometheusDataQuery>[];
}
`;
const PANELS = { stat: "Panel<StatOptions, object>", table: "Panel<TableOptions, object>", timeseries: "Panel<TimeSeriesOptions, GraphFieldConfig>" };

function sourceOf(file) {
  const dashboard = JSON.parse(readFileSync(file, "utf8"));
  const panels = dashboard.panels.filter((panel) => panel.type !== "row");
  const typed = panels.map(({ type, options, fieldConfig, targets }, at) => {
    if (!PANELS[type]) throw new Error(`${file}: no types are named here for a panel of type ${type}`);
    return `export const panel${at}: ${PANELS[type]} = ${JSON.stringify({ options, fieldConfig, targets }, null, 1)};`;
  });
  return `${HEAD}export const dashboard: Dashboard = ${JSON.stringify(dashboard, null, 1)};\n${typed.join("\n")}\n`;
}

/** What TypeScript has to say of the file as a literal of those types. */
function wrong(file) {
  const name = path.join(web, "dashboard.check.ts");
  const source = sourceOf(file);
  const options = { strict: true, skipLibCheck: true, noEmit: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, types: [] };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (at, ...rest) => (at === name ? ts.createSourceFile(at, source, options.target) : getSourceFile(at, ...rest));
  host.fileExists = (at) => at === name || fileExists(at);
  host.readFile = (at) => (at === name ? source : readFile(at));
  return ts.getPreEmitDiagnostics(ts.createProgram([name], options, host)).map(({ file: where, start, messageText }) => {
    const line = where && start !== undefined ? source.split("\n")[where.getLineAndCharacterOfPosition(start).line].trim() : "";
    return `${file}: ${line} ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  });
}

const files = process.argv.slice(2);
const found = files.flatMap(wrong);
console.log(found.length ? found.join("\n") : `${files.length} dashboard: Grafana's types have nothing to say`);
process.exitCode = found.length ? 1 : 0;

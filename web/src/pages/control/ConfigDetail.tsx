// ConfigDetail.tsx - one configuration: the options that it sets now, and its versions with the
// changes of each.
import { useEffect } from "react";
import { OPTIONS } from "../../api/options";
import { useApi } from "../../api/use";
import { date, exactDate } from "../../format/format";
import { configs as text } from "../../text/control";
import { Listing, type Column } from "../../ui/Listing";
import { Words } from "../../ui/Name";
import { Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { Changes } from "./Changes";
import { historyOf, settingsOf, type Setting, type Version } from "./configs";

const SETTINGS: Column<Setting>[] = [
  { label: text.option, className: "mono", show: ({ name }) => name, title: ({ name }) => OPTIONS[name]?.doc },
  { label: text.value, className: "mono wrap", show: ({ name, value }) => <Words text={[value, OPTIONS[name]?.unit].filter(Boolean).join(" ")} /> },
];

interface Props {
  name: string;
  version: number | null; // the newest version; asked again when a newer one exists
  onUse?: (settings: Setting[]) => void; // undefined for users who may not write
}

export function ConfigDetail({ name, version, onUse }: Props) {
  const asked = useApi("named_config_versions", { config: name });
  const { again } = asked;
  const newest = asked.data?.rows[0];
  useAgainFor(version, newest?.version ?? null, again);
  if (asked.problem?.status === 404) return <Empty title={text.lost(name)} text={text.lostText} />;
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={again} />;
  if (!newest) return <Skeleton rows={4} />;
  const settings = settingsOf(newest.options);
  const columns: Column<Version>[] = [
    { label: text.historyColumns.version, right: true, show: ({ row }) => row.version },
    { label: text.historyColumns.when, className: "number", show: ({ row }) => date(row.created), title: ({ row }) => exactDate(row.created) },
    { label: text.historyColumns.who, className: "config-who", show: ({ row }) => <Words text={row.author} /> },
    { label: text.historyColumns.changed, className: "config-changed", show: (one) => (one.row.removed ? text.deleted : one.first && one.differences.length === 0 ? text.first : <Changes list={one.differences} />) },
    { label: text.historyColumns.note, className: "wrap", show: ({ row }) => <Words text={row.note} /> },
  ];
  if (onUse)
    columns.push({
      label: "",
      show: ({ row }) =>
        !row.removed && row !== newest && (
          <button type="button" className="button" aria-label={text.againOf(row.version ?? 0)} onClick={() => onUse(settingsOf(row.options))}>
            {text.again}
          </button>
        ),
    });
  return (
    <>
      <Panel title={text.current(name)}>
        {settings.length === 0 ? <p className="panel-body quiet">{newest.removed ? text.deleted : text.noOptions}</p> : <Listing label={text.current(name)} columns={SETTINGS} rows={settings} keyOf={(one) => one.name} />}
      </Panel>
      <Panel title={text.history}>
        <Listing roomy label={text.history} columns={columns} rows={historyOf(asked.data!.rows)} keyOf={({ row }) => row.version ?? 0} />
      </Panel>
    </>
  );
}

/** Asks again while the list knows a newer version than the one that is shown. */
function useAgainFor(wanted: number | null, shown: number | null, again: () => void): void {
  const isOld = wanted !== null && shown !== null && wanted > shown;
  useEffect(() => {
    if (isOld) again();
  }, [isOld, wanted, again]);
}

// ConfigsPart.tsx - the configurations of the workspace. All members see them, their versions and
// their hosts; members who may write change them. The address says which one is open.
import { useState, type ReactNode } from "react";
import { client } from "../../api/client";
import { may } from "../../api/may";
import type { Me, RowNamedConfig } from "../../api/schema";
import { useAct, useApi } from "../../api/use";
import { useQuery } from "../../router/router";
import { configs as text } from "../../text/control";
import { Ask } from "../../ui/forms";
import { dateColumn, Listing, type Column } from "../../ui/Listing";
import { Words } from "../../ui/Name";
import { Empty, Panel, ProblemView, Skeleton } from "../../ui/parts";
import { ConfigDetail } from "./ConfigDetail";
import { ConfigForm } from "./ConfigForm";
import { ConfigHosts } from "./ConfigHosts";
import { settingsOf, type Setting } from "./configs";
import "./control.css";

const NEW = "/new"; // no name of a configuration has a slash

function Remove({ name, hosts, onClose, onDone }: { name: string; hosts: number; onClose: () => void; onDone: () => void }) {
  const remove = useAct(async () => {
    await client.change("named_config_delete", { config: name }, undefined);
    onDone();
  });
  return (
    <Ask danger title={text.removeTitle(name)} action={text.remove} busy={remove.busy} problem={remove.problem} onDo={() => void remove.run()} onClose={onClose}>
      <p>{text.removeText(hosts)}</p>
    </Ask>
  );
}

interface Actions {
  open: string; // the configuration that is open
  usersOf: (name: string) => number;
  onOpen: (name: string) => void;
  onEdit: (name: string) => void;
  onRemove: (name: string) => void;
}

/** The last column, for those who may write. */
const actionsColumn = ({ onEdit, onRemove }: Actions): Column<RowNamedConfig> => ({
  label: "",
  show: (row) => (
    <span className="row config-actions">
      <button type="button" className="button" aria-label={`${text.change} ${row.id}`} onClick={() => onEdit(row.id)}>
        {text.change}
      </button>
      <button type="button" className="button" aria-label={`${text.remove} ${row.id}`} onClick={() => onRemove(row.id)}>
        {text.remove}
      </button>
    </span>
  ),
});

const columnsFor = (actions: Actions, writes: boolean): Column<RowNamedConfig>[] => [
  {
    label: text.columns.name,
    show: (row) => (
      <button type="button" className="config-name" aria-expanded={row.id === actions.open} onClick={() => actions.onOpen(row.id === actions.open ? "" : row.id)}>
        {row.id}
      </button>
    ),
  },
  { label: text.columns.version, right: true, show: (row) => row.version },
  { label: text.columns.options, right: true, show: (row) => settingsOf(row.options).length },
  dateColumn(text.columns.when, (row) => row.created),
  { label: text.columns.who, className: "config-who", show: (row) => <Words text={row.author} /> },
  { label: text.columns.note, className: "wrap", show: (row) => <Words text={row.note} /> },
  { label: text.columns.hosts, right: true, show: (row) => actions.usersOf(row.id) },
  ...(writes ? [actionsColumn(actions)] : []),
];

/** The list of configurations. make: the button that begins a new one. */
function Configs({ rows, columns, make }: { rows: RowNamedConfig[]; columns: Column<RowNamedConfig>[]; make: ReactNode }) {
  if (rows.length === 0)
    return (
      <Empty title={text.none} text={text.noneText}>
        {make}
      </Empty>
    );
  return (
    <Panel title={text.list} aside={make}>
      <Listing roomy label={text.list} columns={columns} rows={rows} keyOf={(row) => row.id} />
    </Panel>
  );
}

export function ConfigsPart({ me }: { me: Me }) {
  const asked = useApi("named_configs", {}, 30_000);
  const assigned = useApi("host_configs", {}, 30_000);
  const [open, setOpen] = useQuery("config");
  const [edited, setEdited] = useQuery("edit");
  const [used, setUsed] = useState<Setting[] | null>(null); // settings of an older version, for the form
  const [leaving, setLeaving] = useState("");
  const writes = may(me, "CONTROL");
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <Skeleton />;
  const { rows } = asked.data;
  const editing = rows.find(({ id }) => id === edited);
  const opened = rows.find(({ id }) => id === open);
  const usersOf = (name: string): number => assigned.data?.rows.filter(({ config }) => config === name).length ?? 0;
  const edit = (name: string, from: Setting[] | null = null) => {
    setUsed(from);
    setEdited(name);
  };
  const done = (name: string) => {
    edit("");
    setLeaving("");
    setOpen(name);
    asked.again();
    assigned.again();
  };
  const make = writes && (
    <button type="button" className="button button-main" onClick={() => edit(NEW)}>
      {text.make}
    </button>
  );
  return (
    <>
      <p className="quiet">{text.intro}</p>
      <Configs rows={rows} columns={columnsFor({ open, usersOf, onOpen: setOpen, onEdit: edit, onRemove: setLeaving }, writes)} make={make} />
      {writes && (edited === NEW || editing) && (
        <ConfigForm key={`${edited} ${used ? JSON.stringify(used) : ""}`} row={editing ?? null} from={used ?? settingsOf(editing?.options)} known={rows} onAgain={asked.again} onDone={done} onClose={() => edit("")} />
      )}
      {open && <ConfigDetail key={open} name={open} version={opened?.version ?? null} {...(writes && opened ? { onUse: (from: Setting[]) => edit(open, from) } : {})} />}
      <ConfigHosts configs={rows} writes={writes} />
      {leaving && <Remove name={leaving} hosts={usersOf(leaving)} onClose={() => setLeaving("")} onDone={() => done("")} />}
    </>
  );
}

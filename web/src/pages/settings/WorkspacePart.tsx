// WorkspacePart.tsx - the workspace itself: the user's role in it, and how to send sessions to it.
import { RIGHTS } from "../../api/rights";
import { en } from "../../text/en";
import { settings } from "../../text/settings";
import { Command, Panel, Stats } from "../../ui/parts";
import { workspacesOf } from "../account/Account";
import { keyFile } from "./commands";
import type { PartProps } from "./SettingsPage";

const text = settings.workspace;
const ROLES = ["viewer", "member", "owner"] as const;

export function WorkspacePart({ me }: PartProps) {
  const here = workspacesOf(me).find((row) => row.workspace === me.workspace);
  return (
    <>
      <Stats
        items={[
          { label: text.name, value: here?.name ?? (me.local ? en.nav.local : (me.workspace ?? "")) },
          { label: text.role, value: settings.roles[me.role ?? ""] ?? me.role ?? "" },
          { label: text.address, value: <span className="mono small">{location.origin}</span> },
          { label: text.id, value: <span className="mono small">{me.workspace}</span> },
        ]}
      />
      <Panel title={text.send}>
        <div className="panel-body stack">
          <p className="quiet">{text.sendText}</p>
          <Command text={`gpufl upload --server ${location.origin} --api-key-file ${keyFile} DIR`} />
          <p className="small quiet">{text.monitor}</p>
        </div>
      </Panel>
      <Panel title={text.roles}>
        <div className="scroll-x" tabIndex={0} role="region" aria-label={text.roles}>
          <table className="simple">
            <thead>
              <tr>
                <th scope="col">{text.right}</th>
                {ROLES.map((role) => (
                  <th scope="col" key={role}>
                    {settings.roles[role]}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {Object.entries(text.rights).map(([right, label]) => (
                <tr key={right}>
                  <th scope="row">{label}</th>
                  {ROLES.map((role) => (
                    <td key={role}>{RIGHTS[right as keyof typeof RIGHTS][role] ? text.yes : <span className="quiet">{text.no}</span>}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
    </>
  );
}

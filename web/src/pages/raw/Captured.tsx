// Captured.tsx - the ledger: what was launched, recorded and written, what is missing and why, and
// what was asked for and came.
import { capabilitiesOf, ledgerOf } from "../../api/report";
import { useApi } from "../../api/use";
import { en } from "../../text/en";
import { Panel, ProblemView } from "../../ui/parts";

const text = en.raw;

export function Captured({ session }: { session: string }) {
  const asked = useApi("section_ledger", { session });
  if (asked.problem && !asked.data) return <ProblemView problem={asked.problem} again={asked.again} />;
  if (!asked.data) return <div className="skeleton skeleton-block" />;
  const { verdict, missing } = ledgerOf(asked.data);
  const whole = verdict === "complete";
  return (
    <Panel title={text.ledger}>
      <div className="panel-body stack">
        <p>
          <span className={whole ? "chip chip-good" : "chip chip-warn"}>{verdict}</span> {text.verdicts[verdict] ?? ""}
        </p>
        {missing.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
      </div>
      <table className="simple">
        <thead>
          <tr>
            <th scope="col">{text.feature}</th>
            <th scope="col">{text.status}</th>
          </tr>
        </thead>
        <tbody>
          {capabilitiesOf(asked.data).map((row) => (
            <tr key={row.feature}>
              <td className="mono">{row.feature}</td>
              <td>
                {row.status} {row.reason && <span className="quiet small">{row.reason}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

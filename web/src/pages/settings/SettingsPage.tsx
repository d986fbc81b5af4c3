// SettingsPage.tsx - the parts of the settings. A part that a role may not use is shown and says
// so, so that a user knows that it exists and whom to ask.
import { useContext, useEffect, type ComponentType } from "react";
import { may, MeContext, type Right } from "../../api/may";
import type { Me } from "../../api/schema";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { en } from "../../text/en";
import { settings as text } from "../../text/settings";
import { Boundary, part } from "../../ui/Boundary";
import { useCurrent } from "../../ui/current";
import { Empty, ProblemView, Skeleton } from "../../ui/parts";
import { AccountPart } from "./AccountPart";
import { AuditPart } from "./AuditPart";
import { KeysPart } from "./KeysPart";
import { LinksPart } from "./LinksPart";
import { MembersPart } from "./MembersPart";
import { RetentionPart } from "./RetentionPart";
import { ServerPart } from "./ServerPart";
import "./settings.css";
import { WorkspacePart } from "./WorkspacePart";

export interface PartProps {
  me: Me;
}

interface Part {
  id: string;
  right: Right;
  view: ComponentType<PartProps>;
}

const ConfigsPart = part(() => import("../control/ConfigsPart"), (m) => m.ConfigsPart, <Skeleton />);

const PARTS: readonly Part[] = [
  { id: "workspace", right: "READ", view: WorkspacePart },
  { id: "members", right: "READ", view: MembersPart },
  { id: "keys", right: "OWNER", view: KeysPart },
  { id: "links", right: "WRITE", view: LinksPart },
  { id: "retention", right: "READ", view: RetentionPart },
  { id: "configurations", right: "READ", view: ConfigsPart },
  { id: "audit", right: "OWNER", view: AuditPart },
  { id: "account", right: "PUBLIC", view: AccountPart },
  { id: "server", right: "ADMIN", view: ServerPart },
];

/** Parts about workspaces and users of the whole server are visible to its administrators alone. */
const shown = (me: Me) => PARTS.filter((part) => part.right !== "ADMIN" || may(me, "ADMIN"));

export function SettingsPage({ part: wanted }: { part: string }) {
  const { data: known, problem, again } = useContext(MeContext);
  const part = PARTS.find((p) => p.id === wanted);
  const bar = useCurrent(known && wanted);
  useEffect(() => {
    document.title = `${text.parts[wanted] ?? text.title} · ${en.product}`;
  }, [wanted]);
  if (problem && !known) return <ProblemView problem={problem} again={again} />;
  if (!known) return <Skeleton rows={8} />;
  return (
    <div className="stack">
      <h1>{text.title}</h1>
      <div className="settings">
        <nav className="side-nav" ref={bar} aria-label={text.partsLabel}>
          {shown(known).map(({ id }) => (
            <Link key={id} href={href("settings", { part: id })} aria-current={id === wanted ? "page" : undefined}>
              {text.parts[id]}
            </Link>
          ))}
        </nav>
        <div className="stack settings-part">
          <Boundary key={wanted}>
            {!part ? (
              <Empty title={en.states.lostPage} text={en.states.lostPageText} />
            ) : may(known, part.right) ? (
              <part.view me={known} />
            ) : (
              <Empty title={text.notYours} text={part.right === "ADMIN" ? text.notYoursServer : text.notYoursText(known.role ?? "")} />
            )}
          </Boundary>
        </div>
      </div>
    </div>
  );
}

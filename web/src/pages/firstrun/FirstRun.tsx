// FirstRun.tsx - the page of a workspace without sessions: how to send the first one, with this
// server's own address and a key that is made here.
import { useState } from "react";
import { client } from "../../api/client";
import { may, useMe } from "../../api/may";
import { useAct } from "../../api/use";
import { Link } from "../../router/Link";
import { href } from "../../router/router";
import { firstRun as text } from "../../text/firstrun";
import { Command, Panel, ProblemView } from "../../ui/parts";
import { endAfter } from "../settings/links";
import "./firstrun.css";
import { keyFile, waysIn } from "./ways";

/** A key that may send sessions, shown once, in the command that stores it. */
function Key() {
  const [key, setKey] = useState("");
  const make = useAct(async () => setKey((await client.change("key_make", {}, { name: text.keyName, scopes: "ingest", expires: endAfter(0, Date.now()) })).key ?? ""));
  return (
    <Panel title={text.key}>
      <div className="way">
        <p className="quiet">{key ? text.keyOnce : text.keyText}</p>
        {key ? (
          <Command text={keyFile(key)} />
        ) : (
          <div>
            <button type="button" className="button button-main" disabled={make.busy} onClick={() => void make.run()}>
              {text.makeKey}
            </button>
          </div>
        )}
        {make.problem && <ProblemView problem={make.problem} />}
      </div>
    </Panel>
  );
}

export function FirstRun() {
  const me = useMe();
  return (
    <div className="stack">
      <div>
        <h1>{text.title}</h1>
        <p className="quiet">
          {text.text} <Link href={href("upload")}>{text.drop}</Link>
        </p>
      </div>
      {may(me, "OWNER") ? <Key /> : <p className="quiet">{text.keyOfOwner}</p>}
      <div className="first-ways">
        {waysIn(location.origin).map((way) => (
          <Panel key={way.title} title={way.title}>
            <div className="way">
              <p className="quiet">{way.text}</p>
              {way.commands.map((command) => (
                <Command key={command} text={command} />
              ))}
            </div>
          </Panel>
        ))}
      </div>
    </div>
  );
}

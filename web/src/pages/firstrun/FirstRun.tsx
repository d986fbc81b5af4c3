// FirstRun.tsx - nothing is here yet: how to get something in, with this server's own address.
import { en } from "../../text/en";
import { Command, Panel } from "../../ui/parts";
import { waysIn } from "./ways";

export function FirstRun() {
  return (
    <div className="stack">
      <div>
        <h1>{en.firstRun.title}</h1>
        <p className="quiet">{en.firstRun.text}</p>
      </div>
      <div className="ways">
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

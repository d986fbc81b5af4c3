// App.tsx - the frame of every page: bar, commands, shortcuts, and the page that the address names.
import { useEffect, useLayoutEffect, useState } from "react";
import { useConnection } from "../api/live";
import { MeContext } from "../api/may";
import type { Me } from "../api/schema";
import { useApi } from "../api/use";
import { who } from "../api/who";
import { Link } from "../router/Link";
import { isOfView, PAGES, pageOfKey, type Entry } from "../router/pages";
import { go, href, usePlace, type Place } from "../router/router";
import { en } from "../text/en";
import { Boundary } from "../ui/Boundary";
import { keepFocus } from "../ui/focus";
import { copyWholeNames } from "../ui/Name";
import { Empty, KeySheet, Skeleton } from "../ui/parts";
import { toggle, useTheme } from "../ui/theme";
import { Account } from "./account/Account";
import { Expired } from "./account/Expired";
import { MainNav, pagesFor } from "./Nav";
import { Palette } from "./palette/Palette";
import { viewFrom } from "./session/left";
import { TABS } from "./session/tabs";
import { begin, VIEWS } from "./table";

interface PageProps {
  place: Place;
  stranger: boolean; // a visitor who has to log in first
  unknown: boolean; // the server has not said yet who is logged in
  view: boolean; // of `gpufl view`
}

function Page({ place, stranger, unknown, view }: PageProps) {
  if (place.page === null || (view && !isOfView(place.page)))
    return (
      <Empty alone title={en.states.lostPage} text={en.states.lostPageText}>
        <Link href={href("sessions")}>{en.states.toSessions}</Link>
      </Empty>
    );
  if (place.page === "fleet" && unknown) return <Skeleton rows={8} />; // a server without accounts has another first page
  const View = VIEWS[stranger ? "login" : place.page];
  return <View path={place.path} />;
}

type Open = "palette" | "shortcuts" | null;

const typing = (target: EventTarget | null): boolean => target instanceof HTMLElement && target.matches("input, select, textarea, [contenteditable]");

/** The sheet of keys. */
const keys = (pages: readonly Entry[]): [string, string][] => {
  const { before, after } = en.shortcuts;
  return [...before, ...pages.flatMap(({ name, key }): [string, string][] => (key ? [[`g ${key}`, `${en.palette.go} ${name}`]] : [])), ...after];
};

/** Keys that work everywhere. Each page defines its other keys itself. */
function useKeys(place: Place, me: Me | undefined, open: (what: Open) => void): void {
  useEffect(() => {
    let before = "";
    function press(event: KeyboardEvent) {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        open("palette");
        return;
      }
      if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const tab = /^\d$/.test(event.key) ? TABS[(Number(event.key) + 9) % 10] : undefined; // 0 is the tenth
      const page = before === "g" ? pageOfKey(event.key, pagesFor(me)) : undefined;
      if (page) go(href(page));
      else if (event.key === "?") open("shortcuts");
      else if (event.key === "t") toggle();
      else if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLElement>("[data-search]")?.focus();
      } else if (tab && place.path.session) go(viewFrom(place, tab.id));
      before = event.key;
    }
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [place, me, open]);
}

export function App() {
  const place = usePlace();
  const theme = useTheme();
  const [open, setOpen] = useState<Open>(null);
  const version = useApi("version", {});
  const outside = place.page !== null && PAGES[place.page].outside === true;
  const me = useApi("me", outside ? null : {});
  const stranger = me.problem?.status === 401 && !me.data && !who.link;
  const unknown = !outside && !me.data && !me.problem;
  useKeys(place, me.data, setOpen);
  useLayoutEffect(() => begin(place), [place]);
  useEffect(keepFocus, []);
  useEffect(copyWholeNames, []);
  useConnection(!outside && me.data !== undefined);
  const lost = me.problem?.status === 404;
  useEffect(() => {
    if (lost) who.lost();
  }, [lost]);
  return (
    <MeContext.Provider value={me}>
      <a className="skip" href="#content">
        {en.skip}
      </a>
      <header className="topbar">
        <div className="topbar-inner">
          <Link className="brand" href={href("fleet")}>
            <svg viewBox="0 0 32 32" aria-hidden="true">
              <path d="M3 7h13v5H3zM18 7h11v5H18zM3 14h6v5H3zM12 14h17v5H12zM3 21h19v5H3z" fill="#ffb454" />
            </svg>
            {en.product}
          </Link>
          {!outside && !stranger && <MainNav place={place} me={me.data} unknown={unknown} />}
          <button type="button" className="end" onClick={() => setOpen("palette")} aria-keyshortcuts="Control+K">
            {en.nav.commands} <span className="kbd wide">Ctrl K</span>
          </button>
          <button type="button" className="wide" onClick={() => setOpen("shortcuts")} aria-label={en.nav.help}>
            ?
          </button>
          <button type="button" onClick={toggle} title={en.theme.toggle}>
            {theme === "dark" ? en.theme.light : en.theme.dark}
          </button>
          {!outside && <span className="account">{me.data && <Account me={me.data} />}</span>}
        </div>
      </header>
      <main className={place.page === "session" && place.path.tab === "timeline" ? "page page-wide" : "page"} id="content" tabIndex={-1}>
        <Boundary key={`${place.page} ${place.path.session ?? ""} ${stranger}`}>
          <Page place={place} stranger={stranger} unknown={unknown} view={me.data?.view ?? false} />
        </Boundary>
      </main>
      <footer className="footer">{version.data?.version ? en.footer(version.data.version) : ""}</footer>
      <Expired />
      {open === "palette" && <Palette place={place} me={me.data} onClose={() => setOpen(null)} onShortcuts={() => setOpen("shortcuts")} />}
      {open === "shortcuts" && <KeySheet title={en.shortcuts.title} rows={keys(pagesFor(me.data))} onClose={() => setOpen(null)} />}
    </MeContext.Provider>
  );
}

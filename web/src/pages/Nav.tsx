// Nav.tsx - the bar: the pages to go to, and the current one. A visitor with a share link sees one
// session, and no other page.
import type { Me } from "../api/schema";
import { who } from "../api/who";
import { Link } from "../router/Link";
import { menu, PAGES, type Entry } from "../router/pages";
import { href, type Place } from "../router/router";
import { en } from "../text/en";
import { useCurrent } from "../ui/current";

/** The pages in the bar, the pages among the commands, and the pages that keys go to. Until the server
 * has said who asks, they are those that everybody has. */
export const pagesFor = (me: Me | undefined): readonly Entry[] => menu(me?.view ?? true);

/** unknown: the server has not answered yet; an invisible bar keeps the place until then. */
export function MainNav({ place, me, unknown }: { place: Place; me: Me | undefined; unknown: boolean }) {
  const here = place.page && (PAGES[place.page].under ?? place.page);
  const bar = useCurrent(here);
  if (me ? me.kind === "share" : who.link) return null;
  return (
    <nav className="main-nav" ref={bar} aria-label={en.nav.main} style={unknown ? { visibility: "hidden" } : undefined}>
      {(unknown ? menu(false) : pagesFor(me)).map(({ page, name }) => (
        <Link key={page} href={href(page)} aria-current={page === here ? "page" : undefined}>
          {name}
        </Link>
      ))}
    </nav>
  );
}

// Link.tsx - a link within the dashboard. It has a real address, so that the browser's own ways to
// open a link work; a plain click does not reload the page.
import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { go } from "./router";

export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  function click(event: MouseEvent<HTMLAnchorElement>) {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  }
  return <a href={href} onClick={click} {...rest} />;
}

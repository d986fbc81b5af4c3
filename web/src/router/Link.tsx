// Link.tsx - a link within the dashboard: a real address, so that the browser's own ways of
// opening it work, and no reload where it is a plain click.
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

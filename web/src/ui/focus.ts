// focus.ts - keeps the keyboard's focus. If the focused element is removed, the nearest element
// around it gets the focus, or else the page's content; a button that is disabled while it works
// gets the focus back. A press of the mouse on an empty place removes the focus on purpose, and
// stays.

/** Watches the whole page until the returned function is called. */
export function keepFocus(): () => void {
  let last: HTMLElement | null = null;
  let around: Element[] = []; // ancestors of `last`, the nearest first; they remain when `last` has been removed

  function note(event: FocusEvent): void {
    last = event.target instanceof HTMLElement ? event.target : null;
    around = [];
    for (let at = last?.parentElement; at; at = at.parentElement) if (at.matches("[tabindex]")) around.push(at);
  }
  function press(): void {
    last = null;
  }
  function mend(): void {
    if (!last || (document.activeElement && document.activeElement !== document.body)) return;
    if (!last.isConnected) {
      const next = around.find((element) => element.isConnected) ?? document.querySelector("main");
      last = null;
      if (next instanceof HTMLElement) next.focus({ preventScroll: true });
    } else if (!last.matches(":disabled")) last.focus({ preventScroll: true });
  }

  const watch = new MutationObserver(mend);
  watch.observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled"] });
  document.addEventListener("focusin", note);
  document.addEventListener("pointerdown", press);
  return () => {
    watch.disconnect();
    document.removeEventListener("focusin", note);
    document.removeEventListener("pointerdown", press);
  };
}

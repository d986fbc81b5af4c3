// focus.ts - the keyboard's place is never lost. Where what had the focus goes away, the nearest thing
// around it takes over, else the page's content; where a button is switched off while it works, it
// gets the focus back. A press of the mouse beside everything is a wish, and nothing is done about it.

/** Watches the whole page until the returned function is called. */
export function keepFocus(): () => void {
  let last: HTMLElement | null = null;
  let around: Element[] = []; // of `last`, the nearest first: what is left when it has been taken out

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

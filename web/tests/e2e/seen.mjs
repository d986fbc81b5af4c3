// seen.mjs - functions that run in the page and look for what a person would not see whole. A browser
// gets each as text, so that none uses anything outside of itself.

/** Runs in the page: notes each text that is drawn on a canvas, with its box, until the canvas is cleared. */
export function noteTexts() {
  const drawn = (window.drawnTexts = new WeakMap());
  const pen = CanvasRenderingContext2D.prototype;
  const { fillText, clearRect } = pen;
  pen.clearRect = function (...box) {
    drawn.delete(this.canvas);
    return clearRect.apply(this, box);
  };
  pen.fillText = function (text, x, y, ...rest) {
    const { b, c, e, f } = this.getTransform();
    if (b === 0 && c === 0 && text.trim()) {
      const { actualBoundingBoxLeft: left, actualBoundingBoxRight: right } = this.measureText(text);
      const { canvas } = this;
      if (!drawn.has(canvas)) drawn.set(canvas, []);
      const size = parseFloat(/([\d.]+)px/.exec(this.font)?.[1] ?? "10");
      const down = { top: 0.5, hanging: 0.5, middle: 0 }[this.textBaseline] ?? -0.35; // from y to the middle of the letters
      drawn.get(canvas).push({ text, left: e + x - left, right: e + x + right, y: f + y + down * size, size });
    }
    return fillText.call(this, text, x, y, ...rest);
  };
}

/** The result of axe, by the rules `only`, or by all except `leftOut`. */
export async function violated({ only, leftOut }) {
  const asked = axe._audit.rules.filter((rule) => !rule.tags.includes("deprecated") && !leftOut.includes(rule.id)).map((rule) => rule.id);
  const values = only ? asked.filter((id) => only.includes(id)) : asked;
  const { violations } = await axe.run(document, { resultTypes: ["violations"], runOnly: { type: "rule", values } });
  return { violations, rules: values.length };
}

/** Finds names and numbers that are cut off, shortened without need, or read like others. */
export function unreadable() {
  const seen = (element) => element.checkVisibility() && element.getClientRects().length > 0;
  const torn = [...document.querySelectorAll("main .table td > .button, main .table td > .row > .button")].filter((button) => seen(button) && button.getBoundingClientRect().right > button.closest("td").getBoundingClientRect().right);
  const cut = [...torn, ...[...document.querySelectorAll("main td.right, main th.right")].filter((cell) => seen(cell) && getComputedStyle(cell).overflowX === "hidden" && cell.scrollWidth > cell.clientWidth + 1)].map((cell) => cell.innerText);
  /** The letters that are visible in the name's box. */
  const shown = (element) => {
    let box = element;
    while (box && getComputedStyle(box).overflowX !== "hidden") box = box.parentElement;
    const { right, bottom } = (box ?? element).getBoundingClientRect();
    const range = document.createRange();
    let text = "";
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode())
      for (let at = 0; at < node.data.length; at++) {
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        const letter = range.getBoundingClientRect();
        if (letter.bottom > bottom + 2 || letter.right > right + 1) return text;
        text += node.data[at];
      }
    return text;
  };
  const alike = [];
  for (const table of document.querySelectorAll("main table")) {
    const names = new Map();
    for (const element of [...table.querySelectorAll("[data-name]")].filter(seen)) {
      const text = shown(element).trim();
      const whole = element.dataset.name; // two kernels may have one short text
      if ((names.get(text) ?? whole) !== whole) alike.push(text);
      names.set(text, whole);
    }
  }
  // A name is shortened only if the whole name does not fit one line of its cell.
  const pen = document.createElement("canvas").getContext("2d");
  const short = [...document.querySelectorAll("main .table td.lead [data-name]")].filter((element) => {
    const lead = element.querySelector(".found")?.textContent ?? ""; // the searched part, which is shown before the name
    if (!seen(element) || !element.textContent.replace(lead, "").includes("…") || element.dataset.name.includes("…")) return false;
    pen.font = getComputedStyle(element).font;
    const icons = [...element.closest("td").querySelectorAll("button")].reduce((sum, button) => sum + (button.contains(element) ? 0 : button.getBoundingClientRect().width + 12), 0);
    return pen.measureText(element.dataset.name).width + icons + 60 < element.closest("td").clientWidth;
  });
  return { cut, alike, short: short.map((element) => `${element.textContent} of ${element.dataset.name}`) };
}

/** Finds what a person does not see whole, as Harness.whole() lists it. */
export function notWhole() {
  const seen = (element) => element.checkVisibility() && element.getClientRects().length > 0;
  const named = (element) => `${element.tagName.toLowerCase()}.${element.className} ${element.getAttribute("aria-label") ?? ""} (${element.scrollWidth} of ${element.clientWidth} px)`;
  const clips = (element) => ["hidden", "clip"].includes(getComputedStyle(element).overflowX);
  const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  const hinted = (element) => element.parentElement.querySelector(":scope > .table-more") !== null;
  const clipped = [...document.querySelectorAll("main table")].filter(seen).filter((table) => {
    for (let box = table.parentElement; box && box !== document.body; box = box.parentElement) {
      if (scrolls(box)) return false; // for the next check
      if (clips(box) && table.getBoundingClientRect().right > box.getBoundingClientRect().right + 1) return true;
    }
    return table.getBoundingClientRect().right > innerWidth + 1;
  });
  // The last column in view of a wide table is there as a whole, if three columns have room.
  const halved = [...document.querySelectorAll("main .table-frame > .table")].filter((box) => {
    const { left, right } = box.getBoundingClientRect();
    const heads = [...box.querySelectorAll("thead th")].map((head) => head.getBoundingClientRect());
    return seen(box) && box.scrollLeft === 0 && heads.filter((head) => head.left > left - 2 && head.right <= right).length >= 3 && heads.some((head) => head.left < right - 16 && head.right > right + 1);
  });
  // A hint that a table goes on covers a part of it, so that only tables that go on have one.
  const hinting = [...document.querySelectorAll("main .table-frame > .table")].filter((box) => seen(box) && hinted(box) && box.scrollWidth <= box.clientWidth + 1);
  const sideways = [...document.querySelectorAll("main, main *")].filter((element) => !element.matches("pre, textarea, input, select, canvas, .cm-scroller") && seen(element) && scrolls(element) && element.scrollWidth > element.clientWidth + 1 && !hinted(element));
  const high = [...document.querySelectorAll("main .table td")].filter((cell) => seen(cell) && cell.getBoundingClientRect().height > cell.parentElement.getBoundingClientRect().height + 1);
  const tight = [...document.querySelectorAll("main .chip")].filter((chip) => seen(chip) && getComputedStyle(chip).overflowX === "visible" && chip.scrollWidth > chip.clientWidth + 1);
  const twins = [...document.querySelectorAll("main table")].filter(seen).flatMap((table) => {
    const rows = [...table.querySelectorAll("tbody tr")].filter(seen).map((row) => row.innerText.replace(/\s+/g, " ").trim());
    return rows.filter((row, at) => row && rows.indexOf(row) !== at).map((row) => `${table.closest("[aria-label]")?.getAttribute("aria-label") ?? ""}: ${row.slice(0, 120)}`);
  });
  const pen = document.createElement("canvas").getContext("2d");
  const hints = [...document.querySelectorAll("main input[placeholder]")].filter((field) => {
    const { font, paddingLeft, paddingRight } = getComputedStyle(field);
    pen.font = font;
    return seen(field) && pen.measureText(field.placeholder).width > field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) + 1;
  });
  // The text of a select element before anything is chosen; chosen names may be longer.
  const chosen = [...document.querySelectorAll("main select")].filter((select) => {
    const { font, paddingLeft, paddingRight } = getComputedStyle(select);
    pen.font = font;
    return seen(select) && select.value === "" && pen.measureText(select.selectedOptions[0]?.text ?? "").width > select.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - 16; // px of the arrow
  });
  // Texts of a plot's axes do not touch, in lines and in columns.
  const touching = [...document.querySelectorAll("main .uplot canvas")].filter(seen).flatMap((canvas) => {
    const texts = window.drawnTexts?.get(canvas) ?? [];
    return texts.flatMap((one, at) => texts.slice(at + 1).filter((other) => Math.abs(one.y - other.y) < 0.8 * Math.max(one.size, other.size) && one.left < other.right + 3 && other.left < one.right + 3).map((other) => `${one.text} ${other.text}`));
  });
  const lowest = Math.max(0, ...[...document.querySelectorAll("main > *")].map((part) => part.getBoundingClientRect().bottom + scrollY));
  const below = document.querySelector("footer").getBoundingClientRect().height + parseFloat(getComputedStyle(document.querySelector("main")).paddingBottom);
  const empty = lowest + below <= innerHeight ? document.documentElement.scrollHeight - innerHeight : 0;
  return { empty, touching, hints: [...hints.map((field) => `${field.placeholder} (${field.clientWidth} px)`), ...chosen.map((select) => `${select.selectedOptions[0].text} (${select.clientWidth} px)`)], clipped: [...clipped, ...halved].map(named), hinting: hinting.map(named), sideways: sideways.map(named), high: high.map((cell) => cell.innerText), tight: tight.map((chip) => chip.innerText), twins };
}

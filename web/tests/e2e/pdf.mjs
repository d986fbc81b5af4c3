// pdf.mjs - reads the letters on the sheets of a PDF that Chromium has written: its fonts' tables say which letter a glyph is. It
// does not read other PDFs.
import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";

function objectsOf(file) {
  const whole = readFileSync(file, "latin1");
  return new Map([...whole.matchAll(/(?:^|\n)(\d+) 0 obj\n?([\s\S]*?)\nendobj/g)].map(([, number, body]) => [Number(number), body]));
}

function streamOf(object) {
  const bytes = Buffer.from(/stream\r?\n([\s\S]*)\nendstream/.exec(object)[1], "latin1");
  return (object.includes("/FlateDecode") ? inflateSync(bytes) : bytes).toString("latin1");
}

const letterOf = (hex) => Buffer.from(hex, "hex").swap16().toString("utf16le");

/** The letters of a font's glyphs, by hexadecimal number. */
function lettersOf(cmap) {
  const letters = new Map();
  for (const [, rows] of cmap.matchAll(/beginbfchar\n([\s\S]*?)endbfchar/g)) for (const [, glyph, text] of rows.matchAll(/<(\w+)> <(\w+)>/g)) letters.set(parseInt(glyph, 16), letterOf(text));
  for (const [, rows] of cmap.matchAll(/beginbfrange\n([\s\S]*?)endbfrange/g))
    for (const [, first, last, text] of rows.matchAll(/<(\w+)> <(\w+)> <(\w+)>/g))
      for (let glyph = parseInt(first, 16), at = parseInt(text, 16); glyph <= parseInt(last, 16); glyph++, at++) letters.set(glyph, String.fromCharCode(at));
  return letters;
}

const reference = (object, name) => Number(new RegExp(`/${name} (\\d+) 0 R`).exec(object)[1]);

function sheetText(objects, sheet) {
  const fonts = new Map([...sheet.matchAll(/\/(F\d+) (\d+) 0 R/g)].map(([, name, number]) => [name, lettersOf(streamOf(objects.get(reference(objects.get(Number(number)), "ToUnicode"))))]));
  let font;
  let text = "";
  for (const [, name, glyphs] of streamOf(objects.get(reference(sheet, "Contents"))).matchAll(/\/(F\d+) [\d.]+ Tf|<([0-9A-F]+)>/g))
    if (name) font = fonts.get(name);
    else for (const glyph of glyphs.match(/.{4}/g)) text += font.get(parseInt(glyph, 16)) ?? "";
  return text;
}

/** The letters of a text that are compared: no spaces, which are not always drawn; ligatures replaced by their letters. */
export const lettersIn = (text) => text.normalize("NFKC").replace(/\s/g, "");

/** The letters of each sheet. */
export function sheetsOf(file) {
  const objects = objectsOf(file);
  return [...objects.values()].filter((object) => /\/Type \/Page\b/.test(object)).map((sheet) => lettersIn(sheetText(objects, sheet)));
}

// tame.ts - characters that would act instead of being read: characters that change the direction
// of the text around them, and control characters. A name may contain any of them. In an answer's
// text they are replaced by their names, so that a page shows them and nothing around them moves.
// `wild` restores the name for questions to the server.

/** Direction marks, embeddings, overrides and isolates; C0 and C1 controls except tab and line
 * ends. */
const ACTING = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Such a character as a JSON text may write it: a backslash that is not escaped itself, and the
 * character's number. */
const ESCAPED = /(\\\\)|\\u(00[0189][0-9a-f]|007f|061c|200[ef]|202[a-e]|206[6-9])|\\[bf]/gi;
const SPACES = new Set(["0009", "000a", "000d"]);

const named = (code: number): string => `⟨${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;

export const tame = (text: string): string => text.replace(ACTING, (letter) => named(letter.charCodeAt(0)));

/** The inverse of tame. */
export const wild = (text: string): string =>
  text.replace(/\u27e8([0-9A-F]{4})\u27e9/g, (whole, code: string) => {
    const letter = String.fromCharCode(parseInt(code, 16));
    return tame(letter) === whole ? letter : whole;
  });

/** The counterpart of tame for the text of a JSON answer, before the text is parsed. */
export const tameJson = (text: string): string =>
  tame(
    text.replace(ESCAPED, (whole, slash: string | undefined, code: string | undefined) => {
      if (slash || (code && SPACES.has(code.toLowerCase()))) return whole;
      return named(code ? parseInt(code, 16) : whole === "\\b" ? 8 : 12);
    }),
  );

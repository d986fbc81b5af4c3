// address.ts - a statement in an address. Servers refuse control characters there, so that the ends of
// lines and tabs are named: ~n and ~t, and ~~ is a ~.
const NAMES: Record<string, string> = { "~": "~~", "\n": "~n", "\t": "~t", "\r": "" };
const LETTERS: Record<string, string> = { "~": "~", n: "\n", t: "\t" };

/** Other control characters mean nothing in SQL but a space. */
export const toAddress = (statement: string): string => statement.replace(/[\u0000-\u001f\u007f~]/g, (letter) => NAMES[letter] ?? " ");

export const fromAddress = (text: string): string => text.replace(/~([~nt])/g, (_, name: string) => LETTERS[name]!);

// address.ts - a statement in an address. Servers refuse control characters in addresses, so that
// line ends and tabs are escaped: ~n is a line end, ~t a tab, ~~ a ~.
const NAMES: Record<string, string> = { "~": "~~", "\n": "~n", "\t": "~t", "\r": "" };
const LETTERS: Record<string, string> = { "~": "~", n: "\n", t: "\t" };

/** Other control characters mean no more in SQL than a space. */
export const toAddress = (statement: string): string => statement.replace(/[\u0000-\u001f\u007f~]/g, (letter) => NAMES[letter] ?? " ");

export const fromAddress = (text: string): string => text.replace(/~([~nt])/g, (_, name: string) => LETTERS[name]!);

// commands.ts - the command lines that use a new key, for a server at `origin`. The key goes into a
// file of its user's: on a command line every user of the host could read it.
export const keyFile = "~/.gpufl-key";

export const storeKey = (key: string): string => `(umask 077; echo '${key}' > ${keyFile})`;

export const sendWith = (origin: string, key: string): string =>
  [storeKey(key), "gpufl trace --output run1 -- ./my_program", `gpufl upload --server ${origin} --api-key-file ${keyFile} run1`].join("\n");

export const readWith = (origin: string, key: string): string => [storeKey(key), `curl -H "Authorization: Bearer $(cat ${keyFile})" ${origin}/api/v1/sessions`].join("\n");

/** A link of this dashboard with a token after #, which a browser never sends by itself. */
export const tokenLink = (origin: string, page: "invite" | "reset" | "share", token: string, to = ""): string => `${origin}/${page}${to && `?to=${encodeURIComponent(to)}`}#token=${encodeURIComponent(token)}`;

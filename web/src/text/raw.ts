// raw.ts - texts of the tab with exports and with what was captured.
export const raw = {
  counts: "Records",
  record: "Record",
  rows: "Rows",
  identity: "Identity",
  ledger: "What was captured",
  verdicts: { complete: "The numbers of launched, recorded and written events agree.", uncounted: "Nothing is known to be missing, but not all launches were counted.", incomplete: "Something is missing:", absent: "The session has no ledger." } as Record<string, string>,
  feature: "Data",
  status: "Result",
  sources: "Source files kept",
  noSources: "No source files are kept with this session.",
  kept: "Kept",
  answers: "Answers of the server",
  answersText: "Programs get these data at the addresses below; /api/v1/openapi.json describes every address.",
  product: (version: string) => `GPUFlight ${version}`,
  size: (short: string, whole: string) => `${short} (${whole})`,
  facts: { id: "Session", app: "Application", host: "Host", account: "User", pid: "Process", engine: "Engine", format: "Format", client: "Written by", started: "Started", ended: "Ended", received: "Received", bytes: "Size in the store" } as Record<string, string>,
};

// firstrun.ts - texts of the page for a workspace without sessions.
export const firstRun = {
  title: "No sessions yet",
  text: "Make a key once, then paste one of the commands below; they use this server's address.",
  drop: "Or drop a folder of sessions on the page Upload.",
  key: "A key that may send",
  keyText: "The commands read the key from ~/.gpufl-key.",
  keyOnce: "The key is shown this once. Paste this on the machine that sends; Settings revokes it.",
  keyName: "first key",
  makeKey: "Make a key",
  keyOfOwner: "The commands read a key that may send from ~/.gpufl-key. An owner of the workspace makes one.",
  trace: "Record a program and send it",
  traceText: "No change to the program is needed. The session is on disk first; nothing is lost if the network fails.",
  upload: "Send sessions that are on disk",
  uploadText: "Sends what the server does not have yet, and goes on after an interruption.",
  api: "From inside a program",
  apiText: "gpufl.h records a program and writes sessions to log_path; gpufl_upload_logs() sends them after the program's work is done.",
} as const;

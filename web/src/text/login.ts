// login.ts - texts of the pages for logging in and for links.
export const login = { title: "Log in", submit: "Log in", email: "E-mail address", password: "Password", failed: "Logging in failed", setup: "First account", setupText: "Makes the first administrator of this server and its first workspace. The link works once.", name: "Name", workspace: "Workspace", make: "Make the account", noToken: "This page needs the link that the server printed when it started for the first time." } as const;

export const join = {
  inviteTitle: "Join the workspace",
  inviteText: "If you have an account on this server, enter its address and password. Otherwise this makes an account.",
  join: "Join",
  resetTitle: "New password",
  resetText: "The link works once and for a day.",
  set: "Set the password",
  noToken: "Open the whole link that you were given, with the part after #.",
  newName: "Name (for a new account)",
  passwordHint: "10 characters or more.",
  shareTitle: "Shared session",
  shareGone: "This link has ended or was revoked. Ask whoever sent it for a new one.",
} as const;

// login.ts - texts of those who log in, or come with a link.
export const login = { title: "Log in", submit: "Log in", email: "E-mail address", password: "Password", failed: "That did not work", setup: "First account", setupText: "Makes the first administrator of this server and its first workspace. The link works once.", name: "Name", workspace: "Workspace", make: "Make the account", noToken: "This page needs the link that the server printed when it started for the first time." } as const;

export const join = {
  inviteTitle: "Join the workspace",
  inviteText: "With an account on this server, give its address and password. Without one, this makes it.",
  join: "Join",
  resetTitle: "New password",
  resetText: "The link works once and for a day.",
  set: "Set the password",
  noToken: "Open the whole link that you were given, with the part after #.",
  newName: "Name (for a new account)",
  passwordHint: "10 characters or more.",
  shareTitle: "Shared session",
  shareGone: "This link has ended or was taken back. Ask whoever sent it for a new one.",
} as const;

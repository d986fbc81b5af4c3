// bookmarks.ts - every text about bookmarks that people read, loaded with the timeline.
export const bookmarkText = {
  title: "Bookmarks",
  show: (count: string) => `Bookmarks ${count}`,
  make: "Bookmark this range",
  note: "Note",
  noteOf: (at: string) => `Note of the bookmark at ${at}`,
  save: "Save",
  cancel: "Cancel",
  change: "Change note",
  changeOf: (note: string) => `Change note: ${note}`,
  remove: "Delete",
  removeOf: (note: string) => `Delete: ${note}`,
  removeTitle: "Delete this bookmark?",
  none: "The session has no bookmarks.",
  moment: "a moment",
  problem: "The bookmarks could not be loaded.",
};

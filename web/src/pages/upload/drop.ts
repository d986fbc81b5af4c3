// drop.ts - the files that were dropped or chosen, with those in folders.
import type { Found } from "./parts";

const MOST = 100_000; // files; more means that a home directory was dropped by mistake

async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    // The API returns some entries at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}

async function walk(entry: FileSystemEntry, out: Found[]): Promise<void> {
  if (out.length >= MOST) return;
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    out.push({ file, path });
  } else for (const inside of await entriesOf(entry as FileSystemDirectoryEntry)) await walk(inside, out);
}

export async function filesOfDrop(data: DataTransfer): Promise<Found[]> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry()).filter((entry): entry is FileSystemEntry => entry !== null);
  const out: Found[] = [];
  for (const entry of entries) await walk(entry, out);
  return out;
}

export const filesOfInput = (list: FileList | null): Found[] => [...(list ?? [])].map((file) => ({ file, path: file.webkitRelativePath || file.name }));

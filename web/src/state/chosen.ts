/** Files as they are dropped or picked, folders with everything in them. */
import type { Chosen } from "./transfers";

export function picked(files: FileList | null): Chosen[] {
  return Array.from(files ?? [], (file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** The entries must be taken before anything is awaited: the browser forgets them after the event. */
export async function dropped(data: DataTransfer): Promise<Chosen[]> {
  const entries = Array.from(data.items, (item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return picked(data.files);
  return (await Promise.all(entries.map(walked))).flat();
}

async function walked(entry: FileSystemEntry): Promise<Chosen[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ path: entry.fullPath.replace(/^\//, ""), file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: Chosen[] = [];
  for (;;) {
    // a browser tells of some entries at a time
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return found;
    for (const each of some) found.push(...(await walked(each)));
  }
}

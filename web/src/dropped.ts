// Files that were dropped or chosen, also those inside of folders: each folder with files in it is a stack.

/** Files that nobody means: hidden ones, and what systems leave in folders. */
const NOISE = /^(\.|Thumbs\.db$|desktop\.ini$)/i;

/** What lies beside pictures in a folder, and is none. */
const BESIDE = /^(licen[cs]e|readme)\b|\.(txt|md|html?|pdf|docx?|json|ya?ml|xml|xmp|csv|log|zip)$/i;

/** Files that belong together, and what their folder is called; empty if they came without one. */
export interface Batch {
  name: string;
  files: File[];
}

/** A file, and the folder it lies in. */
type Placed = [folder: string, file: File];

async function inside(entry: FileSystemEntry, folder: string): Promise<Placed[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [[folder, file]];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const here = folder ? `${folder}/${entry.name}` : entry.name;
  const files: Placed[] = [];
  for (;;) {
    // A reader gives some entries at a time, and in the end none.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return files;
    for (const one of some) if (meant(one.name)) files.push(...(await inside(one, here)));
  }
}

/** Whether a file of a folder may be a frame; one that was given by itself is always looked at. */
function meant(name: string): boolean {
  return !NOISE.test(name) && !BESIDE.test(name);
}

/** Put together what lies in the same folder, in the order of their names. */
export function batches(files: Placed[]): Batch[] {
  const byFolder = new Map<string, File[]>();
  for (const [folder, file] of files) byFolder.set(folder, [...(byFolder.get(folder) ?? []), file]);
  return [...byFolder]
    .map(([name, inFolder]) => ({ name, files: inFolder }))
    .sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
}

export async function droppedFiles(transfer: DataTransfer): Promise<Batch[]> {
  // Entries must be asked for at once: afterwards the list is empty.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry());
  const loose = [...transfer.files];
  if (entries.some((entry) => !entry)) return batches(loose.map((file) => ["", file]));
  return batches((await Promise.all(entries.map((entry) => inside(entry!, "")))).flat());
}

/** Files of a dialogue that chooses files or a folder. */
export function chosenFiles(input: HTMLInputElement): Batch[] {
  const files = [...(input.files ?? [])].filter((file) => !file.webkitRelativePath || meant(file.name));
  return batches(files.map((file) => [file.webkitRelativePath.split("/").slice(0, -1).join("/"), file]));
}

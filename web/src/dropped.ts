// Files that were dropped, also those inside of folders.

/** Files that nobody means: hidden ones, and what systems leave in folders. */
const NOISE = /^(\.|Thumbs\.db$|desktop\.ini$)/i;

async function inside(entry: FileSystemEntry): Promise<File[]> {
  if (entry.isFile) {
    return [await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const files: File[] = [];
  for (;;) {
    // A reader gives some entries at a time, and in the end none.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return files;
    for (const one of some) if (!NOISE.test(one.name)) files.push(...(await inside(one)));
  }
}

export async function droppedFiles(transfer: DataTransfer): Promise<File[]> {
  // Entries must be asked for at once: afterwards the list is empty.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry());
  const loose = [...transfer.files];
  if (entries.some((entry) => !entry)) return loose;
  return (await Promise.all(entries.map((entry) => inside(entry!)))).flat();
}

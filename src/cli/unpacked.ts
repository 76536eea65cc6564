import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An exported history, in a folder that is deleted when `open` is disposed of. Nothing runs there. */
export const unpacked = async (file: string, open: AsyncDisposableStack): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "troupe-export-"));
  open.defer(() => rm(folder, { recursive: true, force: true }));
  await (await import("./import.ts")).importFile(file, folder);
  return folder;
};

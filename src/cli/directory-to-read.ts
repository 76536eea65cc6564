import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DataDirectory } from "./data-directory.ts";

/** The data directory that `--data` names, or an exported history, unpacked into one. Throws unless there are actors. */
export const directoryToRead = async (data: string, open: AsyncDisposableStack): Promise<DataDirectory> => {
  const path = resolve(data);
  const isFile = (await stat(path).catch(() => undefined))?.isFile() === true;
  const directory = new DataDirectory(isFile ? await unpacked(path, open) : path);
  directory.requireActors();
  return directory;
};

/** In a folder that is deleted when `open` is disposed of. Nothing runs there. */
const unpacked = async (file: string, open: AsyncDisposableStack): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "troupe-export-"));
  open.defer(() => rm(folder, { recursive: true, force: true }));
  await (await import("./import.ts")).importFile(file, folder);
  return folder;
};

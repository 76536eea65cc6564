import { renameSync, rmSync, writeFileSync } from "node:fs";

/** Writes a file whole or not at all: until it is complete, what was there stays. */
export const replaceFile = (file: string, contents: string | Uint8Array, mode: number): void => {
  const part = `${file}.${process.pid}.part`;
  try {
    writeFileSync(part, contents, { flag: "wx", mode });
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
};

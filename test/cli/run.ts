import { execFile } from "node:child_process";
import { join } from "node:path";
import { root } from "../serve-child.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** One command of `troupe`, to its end. */
export const troupe = (...args: readonly string[]): Promise<Ran> =>
  new Promise((settle) => {
    execFile(process.execPath, [join(root, "bin/troupe.js"), ...args], { cwd: root, timeout: 60_000 }, (error, stdout, stderr) => {
      settle({ code: error === null ? 0 : typeof error.code === "number" ? error.code : -1, stdout, stderr });
    });
  });

export const lines = (text: string): readonly unknown[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line));

/** Where paths in a guest's directory lead. */
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";

const LONGEST_PATH = 4_096;

/** Where a path leads: `parent` without any symbolic link, and the name in it. */
export interface Place {
  readonly path: string;
  readonly parent: string;
  readonly name: string;
}

export function segmentsOf(path: string): readonly string[] {
  if (path.length > LONGEST_PATH || path.includes("\0")) throw new Error("This is no path: write names with / between them.");
  if (path.startsWith("/") || path.includes("\\")) throw new Error(`"${path}" leaves the guest's directory: paths are relative to it.`);
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (segments.includes("..")) throw new Error(`"${path}" leaves the guest's directory: ".." is not followed.`);
  return segments;
}

export async function placeOf(root: string, path: string, segments: readonly string[]): Promise<Place> {
  if (segments.length === 0) return { path, parent: root, name: "." };
  const whole = join(root, ...segments);
  const parent = await realpath(dirname(whole));
  if (parent !== root && !parent.startsWith(root.endsWith(sep) ? root : root + sep)) throw outside(path);
  return { path, parent, name: basename(whole) };
}

export const outside = (path: string): Error =>
  new Error(`"${path}" leads outside the guest's directory by a symbolic link: it is not followed.`);

/** The root itself is neither made nor deleted. */
export function inside({ path, parent, name }: Place): string {
  if (name === ".") throw new Error(`"${path}" is the guest's directory itself: name something in it.`);
  return join(parent, name);
}

export async function checkedDirectory({ path, parent, name }: Place): Promise<string> {
  const whole = name === "." ? parent : join(parent, name);
  if ((await lstat(whole)).isSymbolicLink()) throw outside(path);
  return whole;
}

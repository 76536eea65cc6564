import { constants } from "node:fs";
import { lstat, mkdtemp, open, realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { inside, outside, type Place } from "./place.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const OWN = 0o600;

/** What is being written lies in a directory beside it whose name begins so. */
export const WRITING = ".troupe-writing-";

/** Whatever cuts it short, the file is as it was or as it is to be. A symbolic link in its place is not followed. */
export async function replaceFile(place: Place, content: Uint8Array): Promise<void> {
  const whole = inside(place);
  const mode = await modeOf(whole, place.path);
  const folder = await mkdtemp(join(place.parent, WRITING));
  try {
    // Its parent looked at again: a link made meanwhile is not followed.
    if ((await realpath(folder)) !== folder) throw outside(place.path);
    const written = join(folder, "content");
    {
      await using file = await open(written, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, OWN);
      await file.writeFile(content);
      if (mode !== OWN) await file.chmod(mode);
      // Else a rename may last where the content does not.
      await file.datasync();
    }
    await rename(written, whole);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Of the file whose place it takes. Throws where there is something else. */
async function modeOf(whole: string, path: string): Promise<number> {
  const found = await lstat(whole).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return OWN;
  if (found.isSymbolicLink()) throw outside(path);
  if (!found.isFile()) throw new Error(`"${path}" is no file.`);
  return found.mode & 0o777;
}

import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { CommandError, EXIT } from "./exit-code.ts";

// sun_path holds 108 bytes on Linux and 104 on macOS, the final zero included.
const LONGEST = 103;

/**
 * Binds or connects a socket by a path the system takes. Where `path` is too long, the way there is a link in a private
 * folder of an unguessable name, gone as soon as `use` settles: the socket itself stays where only its owner may go.
 */
export const byShortPath = async <T>(path: string, use: (short: string) => Promise<T>): Promise<T> => {
  if (Buffer.byteLength(path) <= LONGEST) return await use(path);
  const folder = mkdtempSync(join(tmpdir(), "troupe-"));
  try {
    symlinkSync(dirname(path), join(folder, "d"));
    const short = join(folder, "d", basename(path));
    if (Buffer.byteLength(short) > LONGEST)
      throw new CommandError(
        EXIT.unavailable,
        "DATA_DIRECTORY",
        `${path} is too long for a socket, and so is the temporary folder ${tmpdir()}: name a shorter one in TMPDIR, or a shorter --data.`,
      );
    return await use(short);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

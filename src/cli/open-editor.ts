import { spawn } from "node:child_process";
import { CommandError, EXIT } from "./command-error.ts";

/** Lets the user edit a file with `$VISUAL` or `$EDITOR`, which may have arguments, until the editor ends. Throws a `CommandError`. */
export const openEditor = async (file: string, environment: NodeJS.ProcessEnv = process.env): Promise<void> => {
  const isWindows = process.platform === "win32";
  const editor = environment["VISUAL"] || environment["EDITOR"] || (isWindows ? "notepad" : "vi");
  const child = isWindows
    ? spawn(`${editor} "${file}"`, { shell: true, stdio: "inherit" })
    : spawn("sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0)
    throw new CommandError(
      EXIT.failed,
      "EDITOR_FAILED",
      `The editor "${editor}" ended with ${code ?? "a signal"}: set EDITOR to one that works.`,
    );
};

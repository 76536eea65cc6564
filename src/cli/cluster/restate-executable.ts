import { createRequire } from "node:module";
import { join } from "node:path";
import { CommandError, EXIT } from "../exit-code.ts";

const PACKAGE = "@restatedev/restate-server";

/**
 * The Restate server's executable itself, out of its npm package: that of the project in `directory`, else of Troupe's own
 * installation. Its launcher script is passed over, since a signal to it would leave the server running.
 */
export const restateExecutable = (directory = process.cwd()): string => {
  const binary = `${PACKAGE}-${process.platform}-${process.arch}/bin/restate-server`;
  for (const from of [join(directory, "package.json"), import.meta.url]) {
    const near = createRequire(from);
    const launcher = resolved(near, `${PACKAGE}/package.json`);
    const found = (launcher === undefined ? undefined : resolved(createRequire(launcher), binary)) ?? resolved(near, binary);
    if (found !== undefined) return found;
  }
  throw new CommandError(
    EXIT.failed,
    "RESTATE_MISSING",
    // Its install script does nothing but report the installation.
    `The Restate server is not installed for ${process.platform}-${process.arch}: run "npm install --save-dev --ignore-scripts ${PACKAGE}@1.7" here, or use one that runs elsewhere with --engine.`,
  );
};

const resolved = (require: NodeJS.Require, name: string): string | undefined => {
  try {
    return require.resolve(name);
  } catch {
    return undefined;
  }
};

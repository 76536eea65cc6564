import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError, describeFailure, EXIT } from "./exit-code.ts";

/** No more files than this are asked for the place of a mistake. */
const MOST_CHECKED = 50;

/** What has been loaded of the author's JavaScript, oldest first. */
export interface Loading extends Disposable {
  readonly scripts: readonly string[];
}

/** Notes it until disposed of: where a script cannot be parsed, Node's error does not say in which. */
export const noteScripts = (): Loading => {
  const scripts: string[] = [];
  const hooks = registerHooks({
    load(url, context, next) {
      if (/^file:.*\.[cm]?js(?:$|\?)/.test(url) && !url.includes("/node_modules/")) scripts.push(fileURLToPath(url));
      return next(url, context);
    },
  });
  return { scripts, [Symbol.dispose]: () => hooks.deregister() };
};

/** That a module could not be loaded: why, where, and what to do. */
export const loadFailure = (file: string, error: unknown, { scripts }: Loading): CommandError => {
  const { code, message } = describeFailure(error);
  const place = error instanceof Error ? (placeIn(error, code) ?? unparsed(error, scripts)) : undefined;
  return new CommandError(
    EXIT.failed,
    code,
    `${file} cannot be loaded: ${message}${remedy(code, message)}${place === undefined ? "" : ` (${place})`}`,
  );
};

const ENDINGS = [".ts", ".js", ".mts", ".mjs", "/index.ts", "/index.js"];

const remedy = (code: string, message: string): string => {
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX")
    return ": leave it out, since Node only takes types away, or serve the JavaScript it compiles to";
  if (code === "ERR_IMPORT_ATTRIBUTE_MISSING") return ': import it with { type: "json" }';
  const pack = /^Cannot find package '([^']+)'/.exec(message)?.[1];
  if (pack !== undefined) return `: install it there (npm install ${pack})`;
  if (code === "ERR_PACKAGE_PATH_NOT_EXPORTED") return ": import one of the names its `exports` has";
  const missing = /^Cannot find module '([^']+)'/.exec(message)?.[1] ?? "";
  const ending = ENDINGS.find((one) => extname(missing) === "" && existsSync(missing + one));
  return ending === undefined ? "" : `: an import names the whole file, with ${ending}`;
};

/** Found by this process where it looked for what another file imports: the message says which. */
const LOOKED_FOR = new Set(["ERR_MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED", "ERR_IMPORT_ATTRIBUTE_MISSING"]);

/** What stands above a stack, where a file could not be parsed or linked; and a frame of it. */
const HEAD = /^(?<path>(?:file:\/\/)?\/.+?)(?:\?round=\d+)?(?<at>:\d+)$/;
const FRAME = /^ +at (?:.*? \()?(?<path>(?:file:\/\/)?\/.+?)(?:\?round=\d+)?(?<at>:\d+:\d+)\)?$/;

/** Node's message says what is wrong with a module; where, only the stack does: `/path/shop.ts:3:7`. */
const placeIn = ({ stack = "", message }: Error, code: string): string | undefined => {
  if (LOOKED_FOR.has(code)) return undefined;
  for (const line of stack.replace(message, "").split("\n")) {
    const { path, at } = (HEAD.exec(line) ?? FRAME.exec(line))?.groups ?? {};
    if (path !== undefined) return `${path.startsWith("file:") ? fileURLToPath(path) : path}${at ?? ""}`;
  }
  return undefined;
};

/** Asked of another Node, which tells whom it runs for what it hides from a program: `/path/shop.js:3`. */
const unparsed = (error: Error, scripts: readonly string[]): string | undefined => {
  if (!(error instanceof SyntaxError) || error.stack?.includes("compileSourceTextModule") !== true) return undefined;
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  for (const script of new Set(scripts.slice(-MOST_CHECKED).toReversed())) {
    const { status, stderr } = spawnSync(process.execPath, ["--check", script], { encoding: "utf8" });
    const place = /^(\/.+:\d+)$/m.exec(stderr)?.[1];
    if (status !== 0 && place !== undefined) return place;
  }
  return undefined;
};

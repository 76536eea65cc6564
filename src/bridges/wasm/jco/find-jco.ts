import { readFileSync } from "node:fs";
import { createRequire, findPackageJSON } from "node:module";
import { pathToFileURL } from "node:url";

/** What transpiles, as it is installed. */
export interface Jco {
  /** Of its module. */
  readonly url: string;
  /** `@bytecodealliance/jco-transpile 0.15.0` */
  readonly version: string;
}

/** The part of jco that is used, and jco itself, which brings that part though not always where it is found. */
const PACKAGES = ["@bytecodealliance/jco-transpile", "@bytecodealliance/jco"];

/** Seen from that file: undefined where it is not installed. */
export function findJco(from: string): Jco | undefined {
  for (const name of PACKAGES) {
    try {
      const manifest = findPackageJSON(name, from);
      if (manifest === undefined) continue;
      const { version }: { readonly version?: unknown } = JSON.parse(readFileSync(manifest, "utf8"));
      return { url: pathToFileURL(createRequire(from).resolve(name)).href, version: `${name} ${String(version)}` };
    } catch {
      // Not installed, or not whole: the next one may be.
    }
  }
  return undefined;
}

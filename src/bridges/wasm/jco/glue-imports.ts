import type { Glue } from "../component.ts";
import { IMPORTS } from "../world/interfaces.ts";
import { denied, type WasiHost, wasiOf } from "./wasi.ts";

type Members = Record<string, unknown>;

/** As the glue calls it. */
const camel = (name: string): string => name.toLowerCase().replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
const pascal = (name: string): string => camel(`-${name}`);

/** What WIT calls `[method]output-stream.write`, and what has no such prefix. */
const MEMBER = /^(?:\[(\w+)\])?([^.]+)(?:\.(.+))?$/;

/** All that the glue asks for: what is not offered is there too, and traps. */
export function glueImports({ wasi }: Glue, host: WasiHost): Readonly<Record<string, Members>> {
  const offered = wasiOf(host);
  const imports: Record<string, Members> = {};
  for (const [of, names] of Object.entries(wasi)) {
    const members: Members = { ...offered[of] };
    for (const each of names) {
      const [, sort, name = "", method] = MEMBER.exec(each) ?? [];
      const trap = (): never => {
        throw denied(`${of}.${each}`);
      };
      if (sort === undefined) members[camel(name)] ??= trap;
      else {
        const resource = (members[pascal(name)] ??= resourceThat(sort === "constructor" ? trap : () => undefined));
        if (method !== undefined) addMissing(resource, sort, camel(method), trap);
      }
    }
    imports[of] = members;
  }
  return { ...imports, ...theaterStubs() };
}

/** A class to the glue, which only constructs it or hangs methods of handles on it. */
const resourceThat = (constructs: () => void): unknown =>
  function resource(): void {
    constructs();
  };

function addMissing(resource: unknown, sort: string, name: string, trap: () => never): void {
  if (typeof resource !== "function") return;
  const holder: unknown = sort === "static" ? resource : resource.prototype;
  if (typeof holder === "object" || typeof holder === "function")
    if (holder !== null && !(name in holder)) Object.defineProperty(holder, name, { value: trap });
}

function stub(): never {
  throw new Error("An import of Theater's was called through the glue");
}

/** Theater's are answered without the glue: it is given something that nobody calls. */
function theaterStubs(): Record<string, Members> {
  const interfaces = Object.entries(IMPORTS).map(
    ([name, functions]) => [name, Object.fromEntries(Object.keys(functions).map((each) => [camel(each), stub]))] as const,
  );
  return Object.fromEntries(
    ["theater:simple", "ntwk:theater"].flatMap((of) => interfaces.map(([name, members]) => [`${of}/${name}`, members] as const)),
  );
}

import { type Bag, TroupeError } from "../contract/index.ts";

/** Draft 5 changed no keyword of draft 4, and neither 6 nor 7 reads what the other cannot. */
export type Dialect = "2020-12" | "2019-09" | "draft-07" | "draft-04";

const NAMED = /^https?:\/\/json-schema\.org\/(?:(draft-0[4-7]|draft\/20(?:19-09|20-12))\/)?schema#?$/;

const DIALECTS: Readonly<Record<string, Dialect>> = {
  "draft/2019-09": "2019-09",
  "draft-07": "draft-07",
  "draft-06": "draft-07",
  "draft-05": "draft-04",
  "draft-04": "draft-04",
};

/** The dialect in which a schema is checked: the one it names, or else 2020-12. */
export function dialectOf({ $schema: named }: Bag): Dialect {
  const name = typeof named === "string" ? NAMED.exec(named)?.[1] : undefined;
  return (name === undefined ? undefined : DIALECTS[name]) ?? "2020-12";
}

/** Throws `BAD_DEFINITION` where an author's schema names a dialect that would be read as another: what only it knows would check nothing. */
export function checkDialect(named: unknown, where: string): void {
  if (named === undefined || (typeof named === "string" && NAMED.test(named))) return;
  const shown = JSON.stringify(named).slice(0, 100);
  throw new TroupeError("BAD_DEFINITION", `${where} is of a dialect that is not read here, ${shown}: write it in JSON Schema 2020-12.`);
}

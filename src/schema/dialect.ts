import { type Bag, TroupeError } from "../contract/index.ts";

// Older drafts too: libraries still write them, and few of their words mean something else.
const KNOWN = /^https?:\/\/json-schema\.org\/(?:draft-0[4-7]\/|draft\/20(?:19-09|20-12)\/)?schema#?$/;

/** Throws `BAD_DEFINITION` where an author's schema names a dialect that would be read as another: what only it knows would check nothing. */
export function checkDialect(named: unknown, where: string): void {
  if (named === undefined || (typeof named === "string" && KNOWN.test(named))) return;
  const shown = JSON.stringify(named).slice(0, 100);
  throw new TroupeError("BAD_DEFINITION", `${where} is of a dialect that is not read here, ${shown}: write it in JSON Schema 2020-12.`);
}

/** Whether it names a dialect of before 2019, in which a list of `items` is a tuple. */
export function isOfOldDialect({ $schema: dialect }: Bag): boolean {
  return typeof dialect === "string" && /draft-0[467]/.test(dialect);
}

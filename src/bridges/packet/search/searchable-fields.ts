// Owns: which texts of an event are searchable, and how the fields of an event are joined into one text. Does not own: the index.
import { type Json, type Policy, REDACTED, TroupeError, isJsonObject, isList } from "../../../core/contract/index.ts";
import { cleanText, cutText } from "../../../core/contract/internal.ts";

/** A kind of actor whose texts are searchable. */
export interface SearchKind {
  readonly kind: string;
  /** The policy of the kind: who may find an actor's texts, and whether the actor outlives the process. */
  readonly policy: Pick<Policy, "owner" | "persistence">;
  /**
   * Paths to texts in payloads and results: names joined by dots, `*` for each item of a list or of an object (`message`,
   * `notes.*.text`). The prefix `payload:` or `result:` restricts a path to one of the two. 1–32 paths, each at most 16 names.
   */
  readonly fields: readonly string[];
  /** The payload in a message's arguments. Default: the arguments themselves. */
  readonly payload?: (args: Json) => Json | undefined;
}

const MAX_FIELDS = 32;
const MAX_PATH_NAMES = 16;
/** Values visited in one event: bounds a `*` in a huge list. */
const MAX_VISITED = 10_000;
const PATH = /^(?:(payload|result):)?([^.:]+(?:\.[^.:]+)*)$/u;

const FROM = ["payload", "result"] as const;

interface Field {
  /** As hits name it: `payload:notes.*.text`. */
  readonly name: string;
  readonly from: (typeof FROM)[number];
  readonly path: readonly string[];
}

/** Extracts the texts of one kind's events. Throws `BAD_DEFINITION`. */
export class SearchableFields {
  readonly #fields: readonly Field[];
  readonly #payload: (args: Json) => Json | undefined;
  readonly #maxChars: number;

  constructor({ kind, fields, payload = (args) => args }: SearchKind, maxChars: number) {
    if (fields.length === 0 || fields.length > MAX_FIELDS)
      throw bad(kind, `names ${fields.length} searchable fields: name 1 to ${MAX_FIELDS}, or leave it out.`);
    this.#fields = fields.flatMap((field) => fieldsOf(kind, field));
    this.#payload = payload;
    this.#maxChars = maxChars;
  }

  name(field: number): string {
    return this.#fields[field]?.name ?? "";
  }

  /** Empty: nothing is searchable. A text that the reply repeats from the payload is indexed once. */
  textOf(args: Json | undefined, reply: Json | undefined): string {
    const payload = args === undefined ? undefined : this.#payload(args);
    const result = isJsonObject(reply) ? reply["ok"] : undefined;
    const seen = new Set<string>([REDACTED, ""]);
    const found: FieldText[] = [];
    let left = this.#maxChars;
    for (const [field, { from, path }] of this.#fields.entries()) {
      const texts: string[] = [];
      for (const text of textsAt(from === "payload" ? payload : result, path)) {
        if (left <= 0) break;
        if (seen.has(text)) continue;
        seen.add(text);
        const cleaned = cleanText(cutText(text, left)).trim();
        left -= cleaned.length;
        if (cleaned !== "") texts.push(cleaned);
      }
      if (texts.length > 0) found.push({ field, text: texts.join("\n") });
    }
    return joinFields(found);
  }
}

function fieldsOf(kind: string, field: string): readonly Field[] {
  const [, from, names = ""] = PATH.exec(field) ?? [];
  const path = names.split(".");
  if (names === "" || path.length > MAX_PATH_NAMES)
    throw bad(kind, `"${field.slice(0, 80)}" is no path: write names joined by dots, \`*\` for each item, as in "notes.*.text".`);
  return FROM.filter((one) => from === undefined || one === from).map((one) => ({ name: `${one}:${names}`, from: one, path }));
}

const bad = (kind: string, what: string): TroupeError => new TroupeError("BAD_DEFINITION", `Search in ${kind}: ${what}`);

function textsAt(value: Json | undefined, path: readonly string[]): readonly string[] {
  let values: readonly Json[] = value === undefined ? [] : [value];
  let visited = 0;
  for (const name of path) {
    const next: Json[] = [];
    for (const one of values)
      for (const inner of name === "*" ? itemsOf(one) : membersOf(one, name)) {
        if ((visited += 1) > MAX_VISITED) break;
        next.push(inner);
      }
    values = next;
  }
  return values.filter((one) => typeof one === "string");
}

function* itemsOf(value: Json): Iterable<Json> {
  if (isList(value)) yield* value;
  else if (isJsonObject(value)) yield* Object.values(value);
}

function membersOf(value: Json, name: string): readonly Json[] {
  const inner = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return inner === undefined ? [] : [inner];
}

/** Precedes each field's text as a word of its own, so that no phrase spans two fields. Its number identifies the field. */
const FIRST_MARK = 0xe000;
/** Private-use characters, which `cleanText` removes from texts. */
const MARKS = /([\u{e000}-\u{f8ff}])/u;

/** Joins the texts of an event's fields. */
const joinFields = (fields: readonly FieldText[]): string =>
  fields.map(({ field, text }) => `${String.fromCharCode(FIRST_MARK + field)} ${text}`).join(" ");

/** A field's number, and its text. */
export interface FieldText {
  readonly field: number;
  readonly text: string;
}

/** Splits them again. */
export function splitFields(text: string): readonly FieldText[] {
  const parts = text.split(MARKS);
  const fields: FieldText[] = [];
  for (let n = 1; n + 1 < parts.length; n += 2)
    fields.push({ field: (parts[n] ?? "").charCodeAt(0) - FIRST_MARK, text: (parts[n + 1] ?? "").trim() });
  return fields;
}

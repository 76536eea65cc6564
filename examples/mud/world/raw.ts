import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Ajv2020, ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import type { Chest, Character, Ending, Exit, Hero, Item, Monster, Quest, Room, World } from "./world.ts";
import { type Problem, suggest } from "./problem.ts";

type Some<T> = { readonly [K in keyof T]?: T[K] };

/** A world as in its file: with a checked shape, unchecked references and without defaults. */
export interface RawWorld {
  readonly title: string;
  readonly welcome?: string;
  readonly start: string;
  readonly hero?: Some<Hero>;
  readonly rooms: Readonly<Record<string, RawRoom>>;
  readonly items?: Readonly<Record<string, Some<Item> & Pick<Item, "name" | "description">>>;
  readonly monsters?: Readonly<Record<string, Some<Monster> & Pick<Monster, "name" | "description" | "health" | "attack">>>;
  readonly characters?: Readonly<Record<string, Some<Character> & Pick<Character, "name" | "description" | "greeting">>>;
  readonly quests: Readonly<Record<string, Some<Quest> & Pick<Quest, "name" | "offer" | "active" | "completed">>>;
  readonly ending: Ending;
  readonly pace?: { readonly respawn?: number; readonly regrow?: number; readonly stray?: number; readonly idle?: number };
}

interface RawRoom {
  readonly name: string;
  readonly description: string;
  readonly exits: Readonly<Record<string, string | Exit>>;
  readonly items?: readonly string[];
  readonly monster?: string;
  readonly chest?: Chest;
  readonly characters?: readonly string[];
  readonly quest?: string;
  readonly dark?: boolean;
  readonly rest?: boolean;
}

let compiled: ValidateFunction<RawWorld> | undefined;

function validator(): ValidateFunction<RawWorld> {
  if (compiled === undefined) {
    const load: { readonly Ajv2020: typeof Ajv2020 } = createRequire(import.meta.url)("ajv/dist/2020.js");
    const ajv = new load.Ajv2020({ allErrors: true, strict: false, verbose: true, addUsedSchema: false });
    const schema: object = JSON.parse(readFileSync(new URL("../world.schema.json", import.meta.url), "utf8"));
    compiled = ajv.compile<RawWorld>(schema);
  }
  return compiled;
}

const MOST_PROBLEMS = 30;

/** Checks the shape of the data. Returns the data, or the errors. */
export function checkShape(data: unknown): { readonly raw: RawWorld } | { readonly problems: readonly Problem[] } {
  const validate = validator();
  if (validate(data)) return { raw: data };
  const problems: Problem[] = [];
  for (const error of validate.errors ?? []) {
    const problem = problemOf(error);
    if (problem !== undefined && problems.length < MOST_PROBLEMS) problems.push(problem);
  }
  return { problems };
}

function problemOf(error: ErrorObject): Problem | undefined {
  const path = error.instancePath
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const what = path.length === 0 ? "the world" : `"${path.join(".")}"`;
  const text = (key: string): string => String(error.params[key]);
  switch (error.keyword) {
    case "required":
      return { path, text: `${what} lacks "${text("missingProperty")}": add it.` };
    case "additionalProperties": {
      const name = text("additionalProperty");
      const known: unknown = error.parentSchema?.["properties"];
      const names = typeof known === "object" && known !== null ? Object.keys(known) : [];
      return { path: [...path, name], atKey: true, text: `${what} has no "${name}".${suggest(name, names)}` };
    }
    // The error about the pattern follows separately.
    case "propertyNames":
      return undefined;
    case "pattern": {
      if (error.propertyName !== undefined) {
        return {
          path: [...path, error.propertyName],
          atKey: true,
          text: `"${error.propertyName}" is no id: use a-z, 0-9 and _, from a letter on.`,
        };
      }
      const id = String(error.schema).startsWith("^[a-z]");
      return {
        path,
        text: id ? `${what} must be an id: use a-z, 0-9 and _, from a letter on.` : `${what} holds control characters: take them out.`,
      };
    }
    case "type":
      return { path, text: `${what} must be ${typeName(error.params["type"])}, not ${nameOf(error.data)}.` };
    case "uniqueItems":
      return { path, text: `${what} holds the same thing twice: take one out.` };
    default:
      return { path, text: `${what} ${error.message ?? "does not fit"}.` };
  }
}

function typeName(type: unknown): string {
  if (Array.isArray(type)) return type.map(typeName).join(" or ");
  const names: Readonly<Record<string, string>> = {
    string: "a text",
    object: "a mapping (key: value)",
    array: "a list",
    integer: "a whole number",
    number: "a number",
    boolean: "true or false",
  };
  return names[String(type)] ?? String(type);
}

function nameOf(data: unknown): string {
  if (data === null) return "empty";
  if (Array.isArray(data)) return "a list";
  if (typeof data === "object") return "a mapping";
  return JSON.stringify(data)?.slice(0, 40) ?? typeof data;
}

const MINUTE = 60_000;

/** Fills in all defaults. Does not check references. */
export function fill(raw: RawWorld): World {
  const { pace } = raw;
  return {
    title: raw.title,
    welcome: raw.welcome ?? `Welcome to ${raw.title}.`,
    start: raw.start,
    hero: { health: 100, attack: 8, armor: 0, carry: 12, ...raw.hero },
    rooms: mapped(raw.rooms, (room) => ({
      items: [],
      characters: [],
      dark: false,
      rest: false,
      ...room,
      exits: mapped(room.exits, exitOf),
    })) satisfies Record<string, Room>,
    items: mapped(raw.items ?? {}, (item) => ({ light: false, attack: 0, armor: 0, heal: 0, strike: 0, ...item })),
    monsters: mapped(raw.monsters ?? {}, (monster) => ({ armor: 0, items: [], guardian: false, ...monster })),
    characters: mapped(raw.characters ?? {}, (character) => ({ topics: {}, ...character })),
    quests: mapped(raw.quests, (quest) => ({ find: [], defeat: [], ...quest })),
    ending: raw.ending,
    pace: {
      respawnMs: (pace?.respawn ?? 10) * MINUTE,
      regrowMs: (pace?.regrow ?? 5) * MINUTE,
      returnMs: (pace?.stray ?? 15) * MINUTE,
      idleMs: (pace?.idle ?? 60) * MINUTE,
    },
  };
}

function exitOf(exit: string | Exit): Exit {
  return typeof exit === "string" ? { to: exit } : exit;
}

function mapped<A, B>(record: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}

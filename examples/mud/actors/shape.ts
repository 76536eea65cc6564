import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { fromJsonSchema } from "troupe";
import type { JsonObject } from "troupe/contract";

/** Reads a value as `T`, or says where it is not one. Small on purpose: messages between the game's own actors need no more. */
export interface Shape<T> extends StandardSchemaV1<T, T> {
  /** Throws `Misfit`. */
  read(value: unknown, path: string): T;
}

class Misfit extends Error {
  readonly path: string;
  constructor(path: string, expected: string) {
    super(`must be ${expected}`);
    this.path = path;
  }
}

function shape<T>(read: (value: unknown, path: string) => T): Shape<T> {
  return {
    read,
    "~standard": {
      version: 1,
      vendor: "mud",
      validate(value) {
        try {
          return { value: read(value, "") };
        } catch (error) {
          if (error instanceof Misfit) return { issues: [{ message: error.message, path: error.path.split(".").slice(1) }] };
          throw error;
        }
      },
    },
  };
}

export const text: Shape<string> = shape((value, path) => {
  if (typeof value === "string") return value;
  throw new Misfit(path, "text");
});

export const number: Shape<number> = shape((value, path) => {
  if (typeof value === "number") return value;
  throw new Misfit(path, "a number");
});

export const flag: Shape<boolean> = shape((value, path) => {
  if (typeof value === "boolean") return value;
  throw new Misfit(path, "true or false");
});

export function among<const T extends string>(words: readonly T[]): Shape<T> {
  return shape((value, path) => {
    const found = words.find((one) => one === value);
    if (found === undefined) throw new Misfit(path, `one of ${words.join(", ")}`);
    return found;
  });
}

export function maybe<T>(inner: Shape<T>): Shape<T | null> {
  return shape((value, path) => (value === null || value === undefined ? null : inner.read(value, path)));
}

export function list<T>(inner: Shape<T>): Shape<T[]> {
  return shape((value, path) => {
    if (!Array.isArray(value)) throw new Misfit(path, "a list");
    return value.map((item, index) => inner.read(item, `${path}.${index}`));
  });
}

type Fields<F> = { [K in keyof F]: F[K] extends Shape<infer T> ? T : never };

export function fields<F extends Readonly<Record<string, Shape<unknown>>>>(inner: F): Shape<Fields<F>>;
export function fields(inner: Readonly<Record<string, Shape<unknown>>>): Shape<object> {
  return shape((value, path) => {
    if (typeof value !== "object" || value === null) throw new Misfit(path, "an object");
    return Object.fromEntries(Object.entries(inner).map(([key, one]) => [key, one.read(Reflect.get(value, key), `${path}.${key}`)]));
  });
}

/** The arguments of a message that brings a reply. */
export interface Brought<T> {
  /** Id of the message that was answered. */
  of: string;
  /** Null where it was refused. */
  back: T | null;
  /** Refused because whom it was sent to is no more. */
  gone: boolean;
}

function inside(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

export function brought<T>(inner: Shape<T>): Shape<Brought<T>> {
  return shape((value, path) => {
    const reply = inside(value, "reply");
    const ok = inside(reply, "ok") ?? null;
    const code = inside(inside(reply, "refused"), "code");
    const of = text.read(inside(value, "of"), `${path}.of`);
    return { of, back: ok === null ? null : inner.read(ok, `${path}.reply.ok`), gone: code === "ACTOR_STOPPED" || code === "NO_ACTOR" };
  });
}

/**
 * Arguments a client sends: `schema` is what it reads, and what does not fit it is refused. `inner` takes what it names, and `tidy`
 * turns that into what is meant.
 */
export function argument<T>(
  schema: JsonObject,
  inner: Shape<T>,
  tidy: (value: T) => T = (value) => value,
): StandardSchemaV1<T, T> & StandardJSONSchemaV1<T, T> {
  // Compiled once it is needed: a compiler takes longer to load than the game.
  let compiled: StandardSchemaV1<T, T> | undefined;
  const { validate: read } = shape((value, path) => tidy(inner.read(value, path)))["~standard"];
  const validate = (value: unknown): ReturnType<typeof read> => {
    const taken = read(value);
    if (taken instanceof Promise || taken.issues !== undefined) return taken;
    const fitting = (compiled ??= fromJsonSchema<T>(schema))["~standard"].validate(value);
    return fitting instanceof Promise || fitting.issues !== undefined ? fitting : taken;
  };
  return {
    "~standard": { version: 1, vendor: "mud", validate, jsonSchema: { input: () => ({ ...schema }), output: () => ({ ...schema }) } },
  };
}

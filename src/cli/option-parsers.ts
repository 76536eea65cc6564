// Owns: parsers of option values and arguments. Does not own: which command has which option.
import { InvalidArgumentError } from "commander";
import type { Json, JsonObject } from "../core/contract/index.ts";
import { isScope, messageOf, roundingIssue, tryParseJson } from "../core/contract/internal.ts";
import { usage } from "./command-error.ts";

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Parses `3000`, `127.0.0.1:3000`, `[::1]:3000` or `localhost:0`. Port 0 picks a free one. */
export const parseHostPort = (text: string, option: string): HostPort => {
  const match = /^(?:(\[[0-9A-Fa-f:.]+\]|[^:[\]]+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > 65_535)
    throw usage(`${option} takes [host:]port with a port from 0 to 65535, such as 127.0.0.1:3000, not "${text}".`);
  const host = match[1]?.replace(/^\[|\]$/g, "") ?? "127.0.0.1";
  return { host, port };
};

/** Parses a TCP address, or the path of a Unix socket, which has a slash or ends in `.sock`. */
export const parseTcp = (text: string, option: string): HostPort | { readonly path: string } =>
  text.includes("/") || text.endsWith(".sock") ? { path: text } : parseHostPort(text, option);

const AGE = /^(\d{1,6})([dhm])$/;
const UNIT: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000 };

/** Parses a duration (30d, 12h, 90m) to milliseconds. Undefined if it is invalid. */
export const parseAge = (text: string): number | undefined => {
  const [, count, unit = ""] = AGE.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNIT[unit] ?? 0);
};

const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/;

/** Parses a day or a time in UTC to milliseconds since 1970. Undefined if it is invalid. */
export const parseUtcTime = (text: string): number | undefined => {
  const [day = ""] = text.split("T");
  // V8 turns February 30 into a day of March.
  const isDay = TIME.test(text) && !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);
  const time = isDay ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
};

const readJson = (text: string, what: string, example: string): Json => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usage(`${what} must be JSON, such as '${example}': ${messageOf(error)}.`);
  }
};

/** Parses JSON of an argument or a file. Throws a `CommandError`, also for an integer that reading would round. */
export const parseJson = (text: string, what: string, example: string): Json => {
  const value = readJson(text, what, example);
  const rounded = roundingIssue(text);
  if (rounded !== undefined) throw usage(`${what} cannot be taken: ${rounded}`);
  return value;
};

export const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value];

/** Parses one of several scopes. */
export const parseScope = (value: string, before: readonly string[] | undefined): readonly string[] => {
  if (!isScope(value)) throw new InvalidArgumentError("A scope has no blanks, quotes or backslashes; give the option once for each.");
  return collect(value, before);
};

export const nonNegative = (text: string): number => {
  // An unset variable in a script is an empty text, and must not mean 0: that is no limit, or no grace.
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(number) || number < 0) throw new InvalidArgumentError("It must be a number of 0 or more.");
  return number;
};

export const parseAdvertisedUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" || url.pathname !== "/" || url.search !== "" || url.username !== "")
    throw new InvalidArgumentError("It must be http://host:port.");
  return url.origin;
};

const REASON_MAX = 1_000;

/** Parses a reason, which an event stores. */
export const parseReason = (text: string): string => {
  if (text.trim() === "" || text.length > REASON_MAX) throw new InvalidArgumentError(`A reason has 1 to ${REASON_MAX} characters.`);
  return text;
};

/** Parses the number of an event, from 1 on. */
export const eventNumber = (text: string): number => {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw usage(`An event is named by its number, from 1 on, not "${text}".`);
  return number;
};

/** Parses an option: a whole number from `least` on. */
export const wholeNumber =
  (least: number) =>
  (text: string): number => {
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!Number.isSafeInteger(number) || number < least) throw new InvalidArgumentError(`It must be a whole number of ${least} or more.`);
    return number;
  };

export const parseLifetime = (text: string): number => {
  const ms = parseAge(text);
  if (ms === undefined || ms === 0) throw new InvalidArgumentError("It must be a time such as 30d, 12h or 90m.");
  return ms;
};

export const nonEmptyText = (text: string): string => {
  if (text.trim() === "") throw new InvalidArgumentError("It must not be empty.");
  return text;
};

export const parseNames = (text: string): readonly string[] => {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw new InvalidArgumentError("It must be names separated by commas, such as roles,tenant.");
  return names;
};

/** Parses an option that may be repeated: name=value, in which the value is JSON or text. */
export const parseClaim = (text: string, before: JsonObject = {}): JsonObject => {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError('It must be a name and a value, such as roles=responder or roles=["responder"].');
  const value = text.slice(at + 1);
  return { ...before, [text.slice(0, at)]: tryParseJson(value) ?? value };
};

/** Parses a path. An unset variable in a script must not mean the current folder. */
export const nonEmptyPath =
  (what: "a folder" | "a file" | "a URL or a file") =>
  (text: string): string => {
    if (text === "") throw new InvalidArgumentError(`It must name ${what}.`);
    return text;
  };

/** Throws a `CommandError` for an invalid name of an environment variable. */
export const checkVariables = (variables: readonly string[]): void => {
  const odd = variables.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (odd !== undefined) throw usage(`--env takes the name of an environment variable, not ${JSON.stringify(odd)}.`);
};

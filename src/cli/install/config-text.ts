// Owns: the pure change of a client's settings, from text to text, checked by reading the result. Does not own: formats, files, clients.
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../../core/contract/index.ts";
import { getOwn, stripBom } from "../../core/contract/internal.ts";

/** The property of all servers, and the server's name in it. */
export type EntryPath = readonly [container: string, name: string];

/** How one format is read and changed. */
export interface ConfigFormat {
  /** A file that has no settings. */
  readonly empty: string;
  /** Throws a `SyntaxError` that says what is wrong, as the end of a sentence. */
  readonly parse: (text: string) => unknown;
  readonly set: (text: string, path: EntryPath, value: JsonObject) => string;
  readonly remove: (text: string, path: EntryPath) => string;
  /** For people who add it by hand. */
  readonly render: (path: EntryPath, value: JsonObject) => string;
}

/** Why a text cannot be changed, as the end of a sentence. */
export class UnchangeableText extends Error {
  override readonly name = "UnchangeableText";
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const settingsOf = (format: ConfigFormat, text: string): JsonObject => {
  let settings: unknown;
  try {
    settings = plain(format.parse(text));
  } catch (error) {
    throw new UnchangeableText(error instanceof Error ? error.message : String(error));
  }
  if (!isJsonObject(settings)) throw new UnchangeableText("it holds no object of settings");
  return settings;
};

const serversOf = (settings: JsonObject, container: string): JsonObject => {
  const servers = getOwn(settings, container) ?? {};
  if (!isJsonObject(servers)) throw new UnchangeableText(`its ${JSON.stringify(container)} is no object`);
  return servers;
};

/** The servers that a text names, with their settings. Throws `UnchangeableText`. */
export const entriesOf = (format: ConfigFormat, text: string, container: string): JsonObject =>
  serversOf(settingsOf(format, stripBom(text)), container);

/**
 * The text with this entry, or without it where `value` is undefined. Throws `UnchangeableText` where the result would say anything else
 * that differs: the formats change text and not values, and a file may be written in a way that they do not know.
 */
export const changeEntry = (format: ConfigFormat, text: string, path: EntryPath, value: JsonObject | undefined): string => {
  const body = stripBom(text);
  const [container, name] = path;
  const before = settingsOf(format, body);
  const servers = serversOf(before, container);
  const { [name]: _, ...others } = servers;
  const wanted = value === undefined ? others : { ...servers, [name]: value };
  if (isDeepStrictEqual(wanted, servers)) return text;
  const after = value === undefined ? format.remove(body, path) : format.set(body, path, value);
  if (!isDeepStrictEqual(readBack(format, after, container), withoutEmpty({ ...before, [container]: wanted }, container)))
    throw new UnchangeableText("it is written in a way that cannot be changed safely");
  return text.slice(0, text.length - body.length) + after;
};

/** A container that is empty is the same as none. */
const withoutEmpty = (settings: JsonObject, container: string): unknown => {
  const { [container]: servers, ...rest } = settings;
  return isJsonObject(servers) && Object.keys(servers).length === 0 ? rest : plain(settings);
};

const readBack = (format: ConfigFormat, text: string, container: string): unknown => {
  try {
    return withoutEmpty(settingsOf(format, text), container);
  } catch {
    return undefined;
  }
};

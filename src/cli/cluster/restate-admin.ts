import { type Clock, isJsonObject, type Json, type JsonObject, systemClock } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { CommandError, EXIT } from "../command-error.ts";
import { textOr } from "../text-or.ts";

/** Restate asks the endpoint in between, and tries again where nothing answers. */
const WITHIN_MS = 30_000;
const MAX_ANSWER_BYTES = 16 * 1_048_576;

/** One answer of the admin API. */
export interface AdminAnswer {
  readonly status: number;
  /** Undefined where there was none, or it is no JSON. */
  readonly body: Json | undefined;
  readonly text: string;
}

/** The admin API of a Restate server. Throws `RESTATE_AWAY` where nothing answers there. */
export class RestateAdmin {
  readonly url: string;
  readonly #clock: Clock;

  constructor(url: string, clock: Clock = systemClock) {
    this.url = url;
    this.#clock = clock;
  }

  /** `onLate` makes what is thrown where the answer takes longer than half a minute. */
  async ask(method: "GET" | "POST" | "DELETE", path: string, body?: Json, onLate?: (waited: string) => Error): Promise<AdminAnswer> {
    const late = new AbortController();
    const undo = this.#clock.after(WITHIN_MS, () => late.abort());
    try {
      const response = await fetch(`${this.url}${path}`, {
        method,
        signal: late.signal,
        redirect: "error",
        headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await boundedText(response, MAX_ANSWER_BYTES);
      return { status: response.status, body: tryParseJson(text), text };
    } catch (error) {
      const waited = `did not answer within ${WITHIN_MS / 1_000} seconds`;
      if (late.signal.aborted && onLate !== undefined) throw onLate(waited);
      throw new CommandError(
        EXIT.unavailable,
        "RESTATE_AWAY",
        `The Restate server's admin API at ${this.url} ${late.signal.aborted ? waited : `cannot be reached: ${causeOf(error)}`}. Start the server, or name where it is with --engine restate://host:port?admin=http://host:port.`,
      );
    } finally {
      undo();
    }
  }

  /** Throws where the answer is no success. */
  async get(path: string): Promise<JsonObject> {
    return success(await this.ask("GET", path));
  }

  /** Rows of SQL over what the server holds. */
  async query(sql: string): Promise<readonly JsonObject[]> {
    const { rows } = success(await this.ask("POST", "/query", { query: sql }));
    return bags(rows);
  }
}

export const bags = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** What Restate says of a failure, in full. */
export const toldBy = ({ status, body, text }: AdminAnswer): string =>
  (isJsonObject(body) ? textOr(body["message"], text) : text).trim() || `nothing but the status ${status}`;

export const unexpected = (answer: AdminAnswer): CommandError =>
  new CommandError(
    EXIT.failed,
    "RESTATE_REFUSED",
    `The Restate server refused with ${answer.status}, and said: ${toldBy(answer)}. If that is no Restate server, name its admin API with ?admin=http://host:port.`,
  );

const success = (answer: AdminAnswer): JsonObject => {
  if (answer.status < 200 || answer.status > 299 || !isJsonObject(answer.body)) throw unexpected(answer);
  return answer.body;
};

const causeOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ("code" in cause ? String(cause.code) : cause.name);
};

/** A response's text. Throws beyond `maxBytes`. */
const boundedText = async (response: Response, maxBytes: number): Promise<string> => {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`its answer is longer than ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
};

import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { type JsonObject, isJsonObject } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";

export interface RestatePorts {
  readonly ingress: number;
  readonly admin: number;
}

/** What a server's log says, line by line, for as long as it runs: a pipe that nobody empties would stop the server. */
export class RestateLog {
  readonly #last: string[] = [];
  readonly #ports = Promise.withResolvers<RestatePorts>();
  readonly #ended = Promise.withResolvers<never>();

  constructor(child: ChildProcess, onLine?: (level: string, message: string) => void) {
    let ingress: number | undefined;
    let admin: number | undefined;
    const keep = (text: string): void => {
      this.#last.push(text.slice(0, 2_000));
      if (this.#last.length > 20) this.#last.shift();
    };
    if (child.stderr !== null) createInterface(child.stderr).on("line", keep);
    if (child.stdout === null) throw new TypeError("The server was started without a pipe.");
    createInterface(child.stdout).on("line", (text) => {
      keep(text);
      const line = tryParseJson(text);
      if (!isJsonObject(line)) return;
      const { level, fields } = line;
      if (onLine !== undefined && typeof level === "string" && isJsonObject(fields)) onLine(level.toLowerCase(), messageOf(fields));
      ingress ??= portIn(line, "http-ingress-server");
      admin ??= portIn(line, "admin-api-server");
      if (ingress !== undefined && admin !== undefined) this.#ports.resolve({ ingress, admin });
    });
    child.once("error", (error) => this.#ended.reject(error));
    // Not at its exit: its last words may still be in the pipes.
    child.once("close", (code, signal) => this.#ended.reject(new Error(`it ended with ${signal ?? code}`)));
    this.#ended.promise.catch(() => undefined);
  }

  /** Where it listens, since it chose that. */
  get ports(): Promise<RestatePorts> {
    return this.#ports.promise;
  }

  /** Rejects when the server ends. */
  get ended(): Promise<never> {
    return this.#ended.promise;
  }

  /** Its last lines. */
  get end(): string {
    return this.#last.join("\n");
  }
}

const messageOf = ({ message, error }: JsonObject): string => [message, error].filter((part) => typeof part === "string").join(": ");

const portIn = ({ span }: JsonObject, server: string): number | undefined => {
  if (!isJsonObject(span) || span["server_name"] !== server) return undefined;
  const port = Number(span["server.port"]);
  return Number.isInteger(port) ? port : undefined;
};

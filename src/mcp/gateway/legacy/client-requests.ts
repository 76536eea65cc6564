// Owns: requests of the server to one client: elicitation, sampling, roots. Does not own: their shape (question-shapes.ts).
import { type JsonObject, type CancelSignal, isJsonObject, type Json } from "../../../core/contract/index.ts";
import { objectIn, shortText, type Response } from "../json-rpc.ts";
import type { Settings } from "../options.ts";
import { nodeMark } from "./remote-replies.ts";

/** The client did not or could not answer. The message is for the caller of the tool. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  readonly code: "CANCELLED" | "CANNOT_ASK" | "DEADLINE" | "DRAINING";
  /** For the handler that waits: the error of JSON-RPC, with the client's own words if it answered with one. */
  readonly rpc: JsonObject;

  constructor(code: NoAnswer["code"], message: string, error?: Json) {
    super(message);
    this.code = code;
    this.rpc = rpcError(message, error);
  }
}

/** Of the server, where it is not the client's own. */
const SERVER_ERROR = -32_000;

export function rpcError(message: string, error: Json = null): JsonObject {
  const { code, message: words } = isJsonObject(error) ? error : {};
  // The SDK ignores a response whose code is not an integer.
  const own = typeof code === "number" && Number.isSafeInteger(code) ? code : SERVER_ERROR;
  return { code: own, message: shortText(words, 500) ?? message };
}

const CLOSING = "The server is closing: call again in a moment.";

interface Waiting {
  readonly settle: (response: Response) => void;
  readonly fail: (why: NoAnswer) => void;
}

/** Requests of the server to one client that wait for a response. */
export class ClientRequests {
  readonly #settings: Settings;
  readonly #waiting = new Map<string, Waiting>();
  readonly #closing: CancelSignal;
  #closed = false;

  /** Once the server is `closing`, it waits for no response: a person may take longer than any drain. */
  constructor(settings: Settings, closing: CancelSignal) {
    this.#settings = settings;
    this.#closing = closing;
  }

  /** Sends a request and waits for its response. Rejects with `NoAnswer`; if it gives up, the client is notified. */
  ask(method: string, params: JsonObject, send: (message: JsonObject) => void, signal: CancelSignal | undefined): Promise<Json> {
    if (this.#closed) return Promise.reject(new NoAnswer("CANCELLED", "The client has disconnected."));
    if (signal?.aborted) return Promise.reject(new NoAnswer("CANCELLED", "The call was cancelled."));
    if (this.#closing.aborted) return Promise.reject(new NoAnswer("DRAINING", CLOSING));
    const id = `ask-${nodeMark(this.#settings)}`;
    return new Promise<Json>((resolve, reject) => {
      const end = (): void => {
        this.#waiting.delete(id);
        undo();
        signal?.removeEventListener("abort", aborted);
        this.#closing.removeEventListener("abort", closing);
      };
      const fail = (why: NoAnswer): void => {
        end();
        reject(why);
      };
      const giveUp = (code: NoAnswer["code"], why: string): void => {
        send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason: why } });
        fail(new NoAnswer(code, why));
      };
      const aborted = (): void => giveUp("CANCELLED", "The call was cancelled.");
      const undo = this.#settings.clock.after(this.#settings.limits.answerMs, () =>
        giveUp("DEADLINE", "The client did not answer in time."),
      );
      const closing = (): void => giveUp("DRAINING", CLOSING);
      signal?.addEventListener("abort", aborted, { once: true });
      this.#closing.addEventListener("abort", closing, { once: true });
      const settle = (response: Response): void => {
        if (response.result === undefined) return fail(new NoAnswer("CANNOT_ASK", refusalOf(method, response.error), response.error));
        end();
        resolve(response.result);
      };
      this.#waiting.set(id, { settle, fail });
      try {
        send({ jsonrpc: "2.0", id, method, params });
      } catch (error) {
        end();
        reject(error);
      }
    });
  }

  /** Settles the request of this response. False: none waits for it. */
  settle(response: Response): boolean {
    const waiting = this.#waiting.get(String(response.id));
    waiting?.settle(response);
    return waiting !== undefined;
  }

  close(): void {
    this.#closed = true;
    for (const { fail } of this.#waiting.values()) fail(new NoAnswer("CANCELLED", "The client has disconnected."));
  }
}

function refusalOf(method: string, error: Json | undefined): string {
  const message = shortText(objectIn({ error: error ?? null }, "error")?.["message"], 500);
  return `The client refused ${method}${message === undefined ? "" : `: ${message}`}.`;
}
